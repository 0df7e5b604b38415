"""Who calls, and what they may do: bearer tokens, roles, and the reviews that ask about them."""

import secrets
import threading
from typing import Final

import attrs

from tests.fakes.kube.answers import forbidden, qualified, unauthorized
from tests.fakes.kube.objects import Obj
from tests.fakes.kube.store import Store

MASTERS: Final = "system:masters"
_RBAC: Final = "rbac.authorization.k8s.io"
# What everybody who is known may do.
_OPEN: Final = {
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
}


@attrs.frozen
class User:
    """Somebody whom a token names."""

    name: str
    groups: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Wish:
    """What somebody wants to do."""

    verb: str
    group: str = ""
    plural: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def resource(self) -> str:
        """Return the resource as a role names it."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


class Access:
    """Tokens, and roles as they stand in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._users: dict[str, User] = {}
        self._lock = threading.Lock()

    def issue(self, user: User) -> str:
        """Return a new token for the user."""
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._users[token] = user
        return token

    def revoke(self, name: str) -> None:
        """Make every token of the user worthless."""
        with self._lock:
            self._users = {token: user for token, user in self._users.items() if user.name != name}

    def caller(self, authorization: str | None) -> User:
        """Return who calls.

        Raises:
            Refusal: 401.
        """
        kind, _, token = (authorization or "").partition(" ")
        with self._lock:
            user = self._users.get(token.strip()) if kind.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        return user

    def require(self, user: User, wish: Wish) -> None:
        """Refuse what the user may not do.

        Raises:
            Refusal: 403.
        """
        if self.allows(user, wish):
            return
        resource = wish.resource
        why = f'User "{user.name}" cannot {wish.verb} resource "{resource}" in API group "{wish.group}"'
        where = f' in the namespace "{wish.namespace}"' if wish.namespace else " at the cluster scope"
        raise forbidden(wish.plural, wish.group, wish.name, why + where)

    def allows(self, user: User, wish: Wish) -> bool:
        """Tell whether the user may do it."""
        if MASTERS in user.groups or ((wish.group, wish.plural) in _OPEN and wish.verb == "create"):
            return True
        return any(_permits(rule, wish) for rule in self.rules(user, wish.namespace))

    def rules(self, user: User, namespace: str) -> list[Obj]:
        """Return the rules that hold for the user there."""
        bound = self._store.objects(qualified("clusterrolebindings", _RBAC))
        if namespace:
            bound = bound + self._store.objects(qualified("rolebindings", _RBAC), namespace)
        found: list[Obj] = []
        for binding in bound:
            if any(_is_subject(subject, user) for subject in binding.get("subjects") or []):
                found += self._role_rules(binding["roleRef"], binding["metadata"].get("namespace", ""))
        return found

    def _role_rules(self, reference: Obj, namespace: str) -> list[Obj]:
        of_cluster = reference["kind"] == "ClusterRole"
        kind = "clusterroles" if of_cluster else "roles"
        roles = self._store.objects(qualified(kind, _RBAC), "" if of_cluster else namespace)
        found = (role for role in roles if role["metadata"]["name"] == reference["name"])
        return [rule for role in found for rule in role.get("rules") or []]

    def review(self, user: User, body: Obj) -> Obj:
        """Return the answer to an access review of whichever kind."""
        spec = body.get("spec") or {}
        if body["kind"] == "SelfSubjectRulesReview":
            rules = self.rules(user, spec.get("namespace", ""))
            shown = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}] if MASTERS in user.groups else rules
            return {"resourceRules": shown, "nonResourceRules": [], "incomplete": False}
        if body["kind"] == "SubjectAccessReview":
            user = User(spec.get("user", ""), tuple(spec.get("groups") or ()))
        attributes = spec.get("resourceAttributes")
        if attributes is None:
            return {"allowed": True}
        wish = Wish(
            verb=attributes.get("verb", "*"),
            group=attributes.get("group", ""),
            plural=attributes.get("resource", "*"),
            subresource=attributes.get("subresource", ""),
            namespace=attributes.get("namespace", ""),
            name=attributes.get("name", ""),
        )
        return {"allowed": self.allows(user, wish)}


def _is_subject(subject: Obj, user: User) -> bool:
    match subject["kind"]:
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in {*user.groups, "system:authenticated"}
        case _:
            return user.name == f"system:serviceaccount:{subject.get('namespace')}:{subject['name']}"


def _permits(rule: Obj, wish: Wish) -> bool:
    resources = rule.get("resources") or []
    return (
        bool({wish.verb, "*"} & set(rule.get("verbs") or []))
        and bool({wish.group, "*"} & set(rule.get("apiGroups") or []))
        and bool({wish.resource, "*", f"*/{wish.subresource}"} & set(resources))
        and (not rule.get("resourceNames") or wish.name in rule["resourceNames"])
    )
