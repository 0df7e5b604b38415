"""What kind of failure a store's is: what a person has to see to, whatever the cloud calls it."""

import errno
from typing import Final

from kinetic_core.wire.transience import causes, code_of, may_pass, status_of

BUCKET: Final = "bucket"
CLOCK: Final = "clock"
CREDENTIALS: Final = "credentials"
NETWORK: Final = "network"
PERMISSION: Final = "permission"
PROJECT: Final = "project"

_BY_CODE: Final = {
    **dict.fromkeys(("NoSuchBucket", "ContainerNotFound", "ResourceNotFound", "AccountIsDisabled"), BUCKET),
    **dict.fromkeys(("RequestTimeTooSkewed", "RequestExpired", "AuthenticationDateInvalid"), CLOCK),
    **dict.fromkeys(
        (
            "AuthenticationFailed",
            "ExpiredToken",
            "ExpiredTokenException",
            "InvalidAccessKeyId",
            "InvalidAuthenticationInfo",
            "InvalidToken",
            "NoAuthenticationInformation",
            "SignatureDoesNotMatch",
            "TokenRefreshRequired",
        ),
        CREDENTIALS,
    ),
    **dict.fromkeys(
        ("AccessDenied", "AuthorizationFailure", "AuthorizationPermissionMismatch", "InsufficientAccountPermissions"),
        PERMISSION,
    ),
}
# By name: the libraries they come from may not be installed.
_BY_KIND: Final = {
    "azure.core.exceptions.ClientAuthenticationError": CREDENTIALS,
    "botocore.exceptions.CredentialRetrievalError": CREDENTIALS,
    "botocore.exceptions.NoCredentialsError": CREDENTIALS,
    "botocore.exceptions.PartialCredentialsError": CREDENTIALS,
    "botocore.exceptions.SSOError": CREDENTIALS,
    "botocore.exceptions.TokenRetrievalError": CREDENTIALS,
    "google.auth.exceptions.DefaultCredentialsError": CREDENTIALS,
    "google.auth.exceptions.RefreshError": CREDENTIALS,
}
_BY_WORDS: Final = {
    # Of a key that is fine; Google's answer to a request for a token, and Azure's under the code of a wrong key.
    "iat and exp values": CLOCK,
    "date header in the request is incorrect": CLOCK,
    "user project": PROJECT,
    "permission to use project": PROJECT,
}
"""What clouds say in words alone, in small letters."""
_GCSFS_FORBIDDEN: Final = "Forbidden: "
"""How gcsfs tells of a status 403; there is nothing else in its error."""
_BY_STATUS: Final = {401: CREDENTIALS, 403: PERMISSION, 404: BUCKET}
_BY_ERRNO: Final = {errno.EACCES: PERMISSION, errno.EPERM: PERMISSION, errno.EROFS: PERMISSION}


def problem_of(error: BaseException) -> str:
    """Return the kind of a failure; empty where nothing is known of it.

    >>> problem_of(PermissionError(13, "Permission denied")), problem_of(ConnectionRefusedError())
    ('permission', 'network')
    """
    for cause in causes(error):
        text = str(cause).lower()
        # Before the status: clocks and keys are refused with the one of missing permission.
        found = (
            next((kind for words, kind in _BY_WORDS.items() if words in text), "")
            or _BY_CODE.get(code_of(cause) or "")
            or next((_BY_KIND[name] for name in map(_name, type(cause).__mro__) if name in _BY_KIND), "")
            or _BY_STATUS.get(status_of(cause) or 0)
            or _BY_ERRNO.get(getattr(cause, "errno", None) or 0)
            or (PERMISSION if str(cause).startswith(_GCSFS_FORBIDDEN) else "")
        )
        if found:
            return found
    return NETWORK if status_of(error) is None and may_pass(error) else ""


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
