"""What a container's process finds: its environment, its files, its command."""

import base64
import re
from pathlib import Path
from typing import Any, Final

import attrs

from tests.fakes.kube.images import Images
from tests.fakes.kube.objects import Obj, labels_of, name_of
from tests.fakes.kube.port_forward import loopback
from tests.fakes.kube.quantities import amount
from tests.fakes.kube.store import Key, Store

_REFERENCE: Final = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")


class ConfigError(Exception):
    """A container names a Secret or ConfigMap, or a key of one, that is not there."""


class MountError(Exception):
    """A volume cannot be set up."""


@attrs.frozen(kw_only=True)
class Start:
    """All that starting a process takes."""

    command: list[str]
    env: dict[str, str]
    folder: Path


@attrs.frozen(kw_only=True)
class Sandbox:
    """A pod's folder on the test machine, which stands for its file systems."""

    store: Store
    root: Path
    buckets: Path
    images: Images

    def mount(self, pod: Obj) -> dict[str, Path]:
        """Set up the pod's volumes; returns where each is.

        Raises:
            MountError: One refers to what is not there.
        """
        return {volume["name"]: self._volume(pod, volume) for volume in pod["spec"].get("volumes") or []}

    def _volume(self, pod: Obj, volume: Obj) -> Path:
        folder = self.root / "volumes" / str(volume["name"])
        namespace = str(pod["metadata"]["namespace"])
        if "hostPath" in volume:
            return Path(volume["hostPath"]["path"])
        folder.mkdir(parents=True, exist_ok=True)
        sources = volume["projected"]["sources"] if "projected" in volume else [volume]
        for source in sources:
            if "secret" in source:
                named = source["secret"].get("secretName") or source["secret"].get("name")
                self._spread(folder, namespace, "secrets", str(named), source["secret"], volume["name"])
            elif "configMap" in source:
                named = source["configMap"]["name"]
                self._spread(folder, namespace, "configmaps", str(named), source["configMap"], volume["name"])
            elif "downwardAPI" in source:
                for item in source["downwardAPI"].get("items") or []:
                    _write(folder / item["path"], field_value(pod, item["fieldRef"]["fieldPath"]).encode())
            elif "csi" in source:
                return self._bucket(source["csi"])
        return folder

    def _spread(self, folder: Path, namespace: str, kind: str, name: str, source: Obj, volume: str) -> None:
        found = self.store.get(Key(kind, namespace, name))
        if found is None:
            if source.get("optional"):
                return
            singular = {"secrets": "secret", "configmaps": "configmap"}[kind]
            raise MountError(f'MountVolume.SetUp failed for volume "{volume}" : {singular} "{name}" not found')
        data = values_of(found)
        wanted = {item["key"]: item["path"] for item in source.get("items") or []} or {key: key for key in data}
        for key, path in wanted.items():
            if key not in data:
                message = f'MountVolume.SetUp failed for volume "{volume}" : references non-existent secret key: {key}'
                raise MountError(message)
            _write(folder / path, data[key])

    def _bucket(self, csi: Obj) -> Path:
        attributes: dict[str, str] = csi.get("volumeAttributes") or {}
        only = re.search(r"only-dir[=:]([^,]+)", attributes.get("mountOptions", ""))
        folder = self.buckets / attributes.get("bucketName", "bucket") / (only.group(1) if only else "")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def start(self, pod: Obj, container: Obj, volumes: dict[str, Path]) -> Start:
        """Return how the container's process is started.

        Its file system and its network are the machine's: where a mount path stands in the command or the
        environment, the folder that stands for the volume is put, and the loopback for a name in the pod's subdomain.

        Raises:
            ConfigError: A variable's source is not there.
        """
        mounts = {
            str(mount["mountPath"]).rstrip("/"): volumes[mount["name"]] / str(mount.get("subPath", ""))
            for mount in container.get("volumeMounts") or []
        }
        home = self.root / str(container["name"])
        home.mkdir(parents=True, exist_ok=True)
        env = self.images.env(str(container.get("image", "")))
        env |= {"HOME": str(home), "HOSTNAME": pod["spec"].get("hostname") or name_of(pod)}
        env |= {"TMPDIR": str(_made(home / "tmp")), "KUBERNETES_SERVICE_HOST": "127.0.0.1"}
        env |= {key: _placed(_here(value, pod), mounts) for key, value in self._variables(pod, container).items()}
        command = [*(container.get("command") or []), *(container.get("args") or [])]
        placed = [_placed(_here(_expanded(part, env), pod), mounts) for part in command]
        working = Path(_placed(str(container.get("workingDir") or home), mounts))
        return Start(command=placed, env=env, folder=working if working.is_dir() else home)

    def _variables(self, pod: Obj, container: Obj) -> dict[str, str]:
        namespace = str(pod["metadata"]["namespace"])
        env: dict[str, str] = {}
        for source in container.get("envFrom") or []:
            kind = "secrets" if "secretRef" in source else "configmaps"
            reference = source.get("secretRef") or source.get("configMapRef")
            for key, value in self._data(namespace, kind, reference).items():
                env[source.get("prefix", "") + key] = value.decode()
        for variable in container.get("env") or []:
            text = self._value(pod, container, variable)
            if text is not None:
                env[variable["name"]] = _expanded(text, env)
        return env

    def _value(self, pod: Obj, container: Obj, variable: Obj) -> str | None:
        source = variable.get("valueFrom")
        if source is None:
            return str(variable.get("value", ""))
        if "fieldRef" in source:
            return field_value(pod, source["fieldRef"]["fieldPath"])
        if "resourceFieldRef" in source:
            kind, _, what = str(source["resourceFieldRef"]["resource"]).partition(".")
            return str(int(amount((container["resources"].get(kind) or {}).get(what, "0"))))
        kind = "secrets" if "secretKeyRef" in source else "configmaps"
        reference = source.get("secretKeyRef") or source["configMapKeyRef"]
        data = self._data(str(pod["metadata"]["namespace"]), kind, reference)
        if reference["key"] in data:
            return data[reference["key"]].decode()
        if reference.get("optional"):
            return None
        shown = {"secrets": "Secret", "configmaps": "ConfigMap"}[kind]
        where = f"{pod['metadata']['namespace']}/{reference['name']}"
        raise ConfigError(f"couldn't find key {reference['key']} in {shown} {where}")

    def _data(self, namespace: str, kind: str, reference: Obj) -> dict[str, bytes]:
        found = self.store.get(Key(kind, namespace, str(reference["name"])))
        if found is not None:
            return values_of(found)
        if reference.get("optional"):
            return {}
        singular = {"secrets": "secret", "configmaps": "configmap"}[kind]
        raise ConfigError(f'{singular} "{reference["name"]}" not found')


def values_of(obj: Obj) -> dict[str, bytes]:
    """Return the data of a Secret or ConfigMap."""
    if obj["kind"] == "Secret":
        return {key: base64.b64decode(value) for key, value in (obj.get("data") or {}).items()}
    texts = {key: str(value).encode() for key, value in (obj.get("data") or {}).items()}
    return texts | {key: base64.b64decode(value) for key, value in (obj.get("binaryData") or {}).items()}


def field_value(pod: Obj, path: str) -> str:
    """Return what a pod tells of itself to its containers."""
    if keyed := re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path):
        texts = labels_of(pod) if keyed[1] == "labels" else pod["metadata"].get("annotations") or {}
        return str(texts.get(keyed[2], ""))
    if path == "status.podIP":
        return "127.0.0.1"
    value: Any = pod
    for part in path.split("."):
        value = value.get(part, "") if isinstance(value, dict) else ""
    return str(value)


def _expanded(text: str, env: dict[str, str]) -> str:
    def replacement(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else env.get(found[1], found[0])

    return _REFERENCE.sub(replacement, text)


def _here(text: str, pod: Obj) -> str:
    # An address that a process is to listen on, when the port is one that the pod declares.
    if listening := re.fullmatch(r"127\.0\.0\.1:(\d+)", text):
        text = f"{loopback(pod, int(listening[1]))}:{listening[1]}"
    subdomain, namespace = pod["spec"].get("subdomain"), pod["metadata"]["namespace"]
    if not subdomain:
        return text
    domain = rf"{re.escape(subdomain)}(?:\.{re.escape(namespace)}(?:\.svc(?:\.cluster\.local)?)?)?"
    return re.sub(rf"(?<![\w./-])[a-z0-9][a-z0-9-]*\.{domain}(?![\w.-])", "127.0.0.1", text)


def _placed(text: str, mounts: dict[str, Path]) -> str:
    for path, folder in sorted(mounts.items(), key=lambda item: -len(item[0])):
        if str(folder).rstrip("/") != path:
            text = str(folder).join(re.split(rf"(?<![\w./-]){re.escape(path)}(?![\w.-])", text))
    return text


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
