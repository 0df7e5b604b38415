"""A service account of the test's own: its key file, and the endpoint that trusts its signature."""

import json
import secrets
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

EMAIL = "tester@acme.iam.gserviceaccount.com"


class Account:
    """Signs like a service account, and knows the tokens that it was given."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._tokens: set[str] = set()

    def write(self, path: Path, token_url: str) -> Path:
        """Write the key file that `GOOGLE_APPLICATION_CREDENTIALS` names."""
        private = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        said = {
            "type": "service_account",
            "project_id": "acme",
            "private_key_id": "1",
            "private_key": private.decode(),
            "client_email": EMAIL,
            "token_uri": token_url,
        }
        path.write_text(json.dumps(said), encoding="utf-8")
        return path

    def issue(self, assertion: str) -> str:
        """Return a token for whoever signed this.

        Raises:
            ValueError: It was not this account.
        """
        public = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        signed = jwt.decode(assertion, certs=public)  # type: ignore[no-untyped-call]  # google-auth types it in part
        if signed["iss"] != EMAIL or "cloud-platform" not in signed["scope"]:
            raise ValueError(signed)
        token = secrets.token_hex(16)
        self._tokens.add(token)
        return token

    def knows(self, authorization: str | None) -> bool:
        return (authorization or "").removeprefix("Bearer ") in self._tokens

    def revoke(self) -> None:
        """Forget every token; a client has to come for another."""
        self._tokens.clear()
