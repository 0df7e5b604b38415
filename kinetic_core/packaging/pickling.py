"""Writing the payload: the call, with the project's own code by value, straight into a file."""

import enum
import functools
import itertools
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import cloudpickle

# Private, and unavoidable: whether a class or type variable travels by value is otherwise decided by a registry
# of the whole process, by name prefix and for every thread. A test watches over what is used of them.
from cloudpickle.cloudpickle import _decompose_typevar, _dynamic_class_reduce, _make_typevar

from kinetic_core.errors import PackagingError
from kinetic_core.model.package import Artifact, PayloadComponent
from kinetic_core.packaging import byname
from kinetic_core.packaging.annotations import portable_annotations
from kinetic_core.packaging.call import (
    Call,
    WrittenPayload,
    argument_label,
    function_label,
    global_label,
    keyword_label,
    surroundings_of,
)
from kinetic_core.packaging.codeobjects import reduce_code
from kinetic_core.packaging.distributions import distribution_versions
from kinetic_core.packaging.enummembers import own_attributes
from kinetic_core.packaging.meeting import Meeting, ReferenceMet, meeting_with
from kinetic_core.packaging.reach import class_body_values, module_reads, namespace_of
from kinetic_core.packaging.sink import HashedFile, WriteError
from kinetic_core.packaging.standin import standin_getattr
from kinetic_core.packaging.weighing import Scale, Weighed, heaviest_first
from kinetic_core.wire import names, payload
from kinetic_core.wire.fingerprint import fingerprint

if TYPE_CHECKING:
    from kinetic_core.packaging.bisection import Failure

Reduction = tuple[Any, ...]

_MODULE_ATTRIBUTES: Final = ("__name__", "__package__", "__file__", "__path__", "__doc__")
# What an import sets; the pod's own is right there.
_IMPORT_ATTRIBUTES: Final = frozenset((*_MODULE_ATTRIBUTES, "__spec__", "__loader__", "__cached__", "__builtins__"))
_LRU_CACHE: Final = type(functools.lru_cache(len))
# A pickler's frames of 64 KiB are too coarse to weigh the parts of what is not much larger.
_SMALL_BYTES: Final = 1 << 19
_STATE: Final = 2  # where a reduction holds its state


def write_payload(
    call: Call,
    target: Path,
    *,
    first_party: Mapping[str, ModuleType],
    own_packages: Collection[str] = (),
    references: tuple[type, ...] = (),
) -> WrittenPayload:
    """Write the payload, whole or not at all, hashing it on the way.

    Large buffers go from the object into the file; no second copy of them is made, and a call that cannot travel
    waits for no hash. Nothing of the process is
    registered or changed, so any number of threads may write at once.

    Args:
        call: What to write.
        target: The file; its directory exists.
        first_party: Modules whose functions and classes travel by value.
        own_packages: Packages of this project, which the pod need not have.
        references: Types whose instances stop the writing, of which `can_be_met` is true. Whether a call holds
            any costs nothing to learn this way; only a call that does has to be walked.

    Raises:
        SerializationError: Something cannot travel; the message names it and the path to it.
        PackagingError: The file cannot be written.
        ReferenceMet: The call holds an instance of `references`, or may hide one; nothing was written.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with HashedFile(descriptor) as sink:
            pickler = CallPickler(sink, first_party=first_party, own_packages=own_packages, references=references)
            _dump(pickler, call)
            sha256 = sink.hexdigest()
        # Of many small payloads nobody asks what weighs most, and the answer costs more than the payload.
        exact = not call.shared_function and sink.size_bytes <= _SMALL_BYTES
        components: Sequence[PayloadComponent] = (
            _weights(pickler.scale, Path(temporary)) if exact else pickler.scale.components()
        )
        Path(temporary).replace(target)
    except (OSError, WriteError) as error:
        Path(temporary).unlink(missing_ok=True)
        raise PackagingError(f"the payload cannot be written to {target}: {error.__cause__ or error}") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return WrittenPayload(
        artifact=Artifact(path=target, size_bytes=sink.size_bytes, sha256=sha256),
        components=components,
        modules_by_value=pickler.modules_by_value(),
        distributions=pickler.distributions(),
    )


def _dump(pickler: "CallPickler", call: Call) -> None:
    try:
        pickler.dump_call(call)
    except (ReferenceMet, WriteError):
        raise
    except Exception as error:
        from kinetic_core.packaging.bisection import explain  # most calls travel

        raise explain(call, pickler.failure(error)) from error


def _weights(scale: Scale, path: Path) -> Sequence[PayloadComponent]:
    content = path.read_bytes()

    def weigh() -> tuple[PayloadComponent, ...]:
        from kinetic_core.packaging.opcodes import exact_weights

        exact = exact_weights(content, scale.labels, payload.FUNC)
        return scale.components() if exact is None else heaviest_first(exact)

    return Weighed(weigh)


class _Reduced:
    """An object that loads as something else; callable, as a reduction's function has to be."""

    def __init__(self, *reduction: Any) -> None:
        self.reduction = reduction

    def __call__(self) -> None:
        """Never called: loading calls what it loads as."""


class CallPickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle publishes no types
    """Decides object by object what travels by value, for one payload alone."""

    def __init__(
        self,
        sink: HashedFile,
        *,
        first_party: Mapping[str, ModuleType],
        own_packages: Collection[str] = (),
        references: tuple[type, ...] = (),
    ) -> None:
        super().__init__(sink, protocol=names.PICKLE_PROTOCOL)
        self.scale = Scale(lambda: sink.size_bytes)
        self._latest: object = None
        self._opened: set[int] = set()
        self._first_party = first_party
        self._module_of_globals = {id(namespace_of(module)): module for module in first_party.values()}
        self._own_packages = own_packages
        self._references = references
        self._by_value: set[str] = set()
        self._referred: set[str] = set()
        self._versions: dict[str, str] = {}
        self._globals: dict[str, _Reduced] = {}
        self._read: dict[str, dict[str, None]] = {}
        self._shipped: dict[str, set[str]] = {}
        self._enums: list[type[enum.Enum]] = []
        # By id, as a metaclass may make its classes unhashable; the types are kept so that no id is reused.
        self._kinds: list[type] = []
        self._reducers: dict[int, Callable[[Any], Any] | None] = {}
        chosen: tuple[tuple[type, Callable[[Any], Any]], ...] = (
            (_Reduced, lambda stand_in: stand_in.reduction),
            (FunctionType, self._reduce_function),
            (ModuleType, self._reduce_module),
            (CodeType, reduce_code),
            (TypeVar, self._reduce_type_variable),
            (BuiltinFunctionType, self._reduce_builtin),
            (_LRU_CACHE, self._reduce_cached),
            (functools.cached_property, byname.cached_property),
            *(((byname.ALIAS, self._reduce_alias),) if byname.ALIAS is not None else ()),
            *((kind, functools.partial(self._reduce_named, reduce)) for kind, reduce in byname.BY_NAME.items()),
        )
        for kind, reduce in chosen:
            self._reducers[id(kind)] = self._watched(kind, reduce)

    def dump_call(self, call: Call) -> None:
        """Write the payload of a call."""
        self.dump(_Reduced(dict, (), None, None, self._items(call)))

    def modules_by_value(self) -> tuple[str, ...]:
        """Return the names of the modules whose code was written, sorted."""
        return tuple(sorted(self._by_value))

    def distributions(self) -> dict[str, str]:
        """Return the versions of the distributions that were referred to."""
        return self._versions

    def _look_up_versions(self) -> dict[str, str]:
        foreign = self._referred - {"cloudpickle", *self._own_packages}
        return distribution_versions(name for name in foreign if name not in self._first_party)

    def failure(self, error: Exception) -> "Failure":
        """Return what is known about an error that ended the writing."""
        from kinetic_core.packaging.bisection import Failure  # as above

        return Failure(error=error, path=self.scale.path, latest=self._latest, opened=self._opened, reads=self._read)

    def reducer_override(self, obj: Any) -> Any:
        """Say how to reduce an object; asked for everything but plain values and containers."""
        kind = type(obj)
        if kind is not _Reduced:
            self._latest = obj
        try:
            reduce = self._reducers[id(kind)]
        except KeyError:
            reduce = self._reducers[id(kind)] = self._choose(kind)
            self._kinds.append(kind)
        return NotImplemented if reduce is None else reduce(obj)

    def _choose(self, kind: type) -> Callable[[Any], Any] | None:
        if issubclass(kind, type):
            return self._watched(kind, self._reduce_class)
        return self._watched(kind, self._reduce_special_module if issubclass(kind, ModuleType) else None)

    def _watched(self, kind: type, reduce: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
        meeting = meeting_with(kind, self._references)
        if meeting is Meeting.NEVER:
            return reduce
        return functools.partial(_meet, () if meeting is Meeting.ALWAYS else self._references, reduce)

    def _items(self, call: Call) -> Iterator[tuple[str, Any]]:
        ours: dict[str, Any] = {"cloudpickle": cloudpickle.__version__, "kinetic": call.kinetic_version}
        yield payload.CLIENT_FINGERPRINT, fingerprint(**ours)
        yield from surroundings_of(call)
        yield from self.scale.weigh([(function_label(call), (payload.FUNC, call.function))])
        yield payload.ARGS, self._weighed_tuple(call.args)
        yield payload.KWARGS, self._weighed_dict(call.kwargs, keyword_label)
        while pending := self._pending():
            yield payload.MODULE_UPDATES, pending
        yield payload.MODULES_BY_VALUE, list(self.modules_by_value())
        self._versions = self._look_up_versions()
        if self._versions:
            # Another string than the first key: written in full, not as a mark that points back.
            key = "".join(list(payload.CLIENT_FINGERPRINT))
            yield key, fingerprint(**ours, distributions=self._versions)

    def _reduce_function(self, function: FunctionType) -> Any:
        if self._is_first_party(function):
            self._by_value.add(function.__module__)
            reduction = self._dynamic_function_reduce(function)
        else:
            reduction = super().reducer_override(function)
            if reduction is NotImplemented:
                return self._by_reference(function.__module__)
        self._opened.add(id(function))
        for module, name in module_reads(function, self._first_party):
            if name not in _IMPORT_ATTRIBUTES:
                self._read.setdefault(module.__name__, {})[name] = None
        make, (code, base, *rest), (state, slots), *others = reduction
        slots["__annotations__"] = portable_annotations(slots["__annotations__"], self._own_packages)
        # cloudpickle sees what functions read, not what the bodies of classes inside them do.
        bodies = {name: value for name, value in class_body_values(function) if name not in _IMPORT_ATTRIBUTES}
        captured = bodies | slots["__globals__"]
        home = self._module_of_globals.get(id(function.__globals__))
        if home is not None:
            # One namespace for the module and all its functions: what one sets, the others and the module see.
            base = self._globals_of(home)
            captured = {name: value for name, value in captured.items() if name not in _MODULE_ATTRIBUTES}
        label = functools.partial(global_label, function.__globals__.get("__name__"))
        slots["__globals__"] = self._weighed_dict(captured, label)
        return (make, (code, base, *rest), (state, slots), *others)

    def _reduce_class(self, cls: type) -> Any:
        if not self._is_first_party(cls):
            reduction = super().reducer_override(cls)
            if reduction is NotImplemented:
                return self._by_reference(cls.__module__)
        else:
            self._by_value.add(cls.__module__)
            reduction = _dynamic_class_reduce(cls)
        self._opened.add(id(cls))
        if issubclass(cls, enum.Enum):
            self._enums.append(cls)
        if len(reduction) > _STATE:
            members = reduction[_STATE][0]
            members.pop("__slotnames__", None)  # a note that pickling left on the class: it is there the second time
            if "__annotations__" in members:
                members["__annotations__"] = portable_annotations(members["__annotations__"], self._own_packages)
        return reduction

    def _reduce_module(self, module: ModuleType) -> Any:
        name = module.__name__
        if self._first_party.get(name) is not module:
            return self._by_reference(name)
        self._by_value.add(name)
        self._opened.add(id(module))
        read = self._read.setdefault(name, {})
        self._shipped[name] = set(read)
        namespace = vars(module)
        base = {key: namespace[key] for key in _MODULE_ATTRIBUTES if key in namespace}
        if "__path__" in base:
            base["__path__"] = list(base["__path__"])
        state = self._weighed_dict(
            {key: namespace[key] for key in read},
            functools.partial(global_label, name),
            ahead=("__getattr__", standin_getattr(module)),
        )
        return cloudpickle.dynamic_subimport, (name, base), state

    def _reduce_special_module(self, module: ModuleType) -> Any:
        # Its class may do anything, such as load it late; only an import makes that again.
        name = namespace_of(module)["__name__"]
        if sys.modules.get(name) is not module:
            return NotImplemented
        self._by_reference(name)
        return cloudpickle.subimport, (name,)

    def _reduce_type_variable(self, variable: TypeVar) -> Any:
        if self._is_first_party(variable):
            return _make_typevar, _decompose_typevar(variable)
        return NotImplemented

    def _reduce_named(self, reduce: Callable[[Any], Reduction], value: Any) -> Any:
        by_value = value.__module__ == "__main__" or self._is_first_party(value)
        return reduce(value) if by_value else self._by_reference(value.__module__)

    def _reduce_alias(self, value: Any) -> Any:
        if value.__module__ != "__main__" and byname.names_itself(value):
            return self._by_reference(value.__module__)
        return self._reduce_named(byname.alias, value)

    def _reduce_builtin(self, function: BuiltinFunctionType) -> Any:
        return self._by_reference(function.__module__)

    def _reduce_cached(self, wrapper: Any) -> Any:
        if wrapper.__module__ != "__main__" and _found_by_name(wrapper):
            return self._by_reference(wrapper.__module__)
        # By value where the pod could not import it; its cache starts empty.
        parameters = wrapper.cache_parameters()
        decorate = _Reduced(functools.lru_cache, (parameters["maxsize"], parameters["typed"]))
        return decorate, (wrapper.__wrapped__,)

    def _is_first_party(self, value: Any) -> bool:
        module = getattr(value, "__module__", None)
        return isinstance(module, str) and module in self._first_party

    def _by_reference(self, module: str | None) -> Any:
        if isinstance(module, str):
            self._referred.add(module.partition(".")[0])
        return NotImplemented

    def _globals_of(self, module: ModuleType) -> _Reduced:
        return self._globals.setdefault(module.__name__, _Reduced(vars, (module,)))

    def _pending(self) -> list[_Reduced]:
        """Return updates: of members of enums, and of modules of which code that was written later reads more."""
        members = itertools.chain.from_iterable(map(own_attributes, self._enums))
        updates = [_Reduced(dict.update, (_Reduced(vars, (member,)), own)) for member, own in members]
        self._enums.clear()
        for name, shipped in self._shipped.items():
            missing = [key for key in self._read[name] if key not in shipped]
            if missing:
                shipped.update(missing)
                namespace = vars(self._first_party[name])
                more = self._weighed_dict(
                    {key: namespace[key] for key in missing}, functools.partial(global_label, name)
                )
                updates.append(_Reduced(dict.update, (self._globals_of(self._first_party[name]), more)))
        return updates

    def _weighed_dict(
        self, items: Mapping[str, Any], label: Callable[[str], str], *, ahead: tuple[str, Any] | None = None
    ) -> Any:
        if not items and ahead is None:
            return {}
        # A pickler asks for the second item before it writes the first, which would then weigh nothing: so the
        # first item is one that does not matter.
        first = ahead or (next(iter(items)), None)
        weighed = self.scale.weigh((label(key), (key, value)) for key, value in items.items())
        return _Reduced(dict, (), None, None, itertools.chain([first], weighed))

    def _weighed_tuple(self, items: Iterable[Any]) -> Any:
        weighed = self.scale.weigh((argument_label(index), item) for index, item in enumerate(items))
        listed = _Reduced(list, (), None, itertools.chain([None], weighed))
        return _Reduced(tuple, (_Reduced(itertools.islice, (listed, 1, None)),))


def _meet(references: tuple[type, ...], reduce: Callable[[Any], Any] | None, value: Any) -> Any:
    if not references or isinstance(value, references):
        raise ReferenceMet
    return NotImplemented if reduce is None else reduce(value)


def _found_by_name(value: Any) -> bool:
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value
