"""The cluster's own certificate authority."""

import ssl
from pathlib import Path

import trustme


def make_context(authority: Path) -> ssl.SSLContext:
    """Return a server's TLS context for the loopback address; the authority's certificate is put into the file."""
    ca = trustme.CA(organization_name="kinetic test cluster")
    ca.cert_pem.write_to_path(str(authority))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context
