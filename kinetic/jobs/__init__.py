"""Jobs after they are submitted: handles, results, the ledger in the store."""
