"""What only some engines can do. Code asks an engine for the ability, which is None if it has
none, and never which engine it is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tidelog.engine.sets import Counter, FactSet, Saved, View
from tidelog.program.rules import Rule, Stratum


class Rounds(Protocol):
    """Counts rounds that an engine begins by itself."""

    def room(self) -> int:
        """How many facts such rounds may add before `each` must be called; 0 for no such round."""

    def passed(self, count: int) -> None:
        """Called when this many rounds have begun."""


class FactAges(Protocol):
    """Knows in which order facts entered the materialisation. Undoing a change restores it."""

    def date(self, relations: Sequence[str]) -> None:
        """From now on, the order must be known for facts of these relations."""

    def undate(self, relations: Sequence[str]) -> None:
        """From now on, it need not be known."""


@dataclass(frozen=True, slots=True)
class Checking:
    """What a search for proofs reads of a stratum."""

    E: FactSet
    I: FactSet
    inside: frozenset[str]  # the stratum's relations
    rules: Sequence[Rule]  # its recursive rules
    direct: Sequence[Rule] | Counter  # rules without recursion, or the counter of their derivations
    # Recursive rules of before, where what disproved facts derive is checked as well: their lower
    # facts are read in one view, what they negate in the other.
    loss: Sequence[Rule]
    lower: View
    negative: View


class Checked(NamedTuple):
    """What a search found, and how many rule instances it considered."""

    disproved: FactSet
    back: int
    forward: int
    lost: int


class ProofSearch(Protocol):
    """Checks facts one by one, depth first (Motik et al. 2015, Algorithms 1 to 3)."""

    def check(
        self, N: FactSet, C: FactSet, K: FactSet, asked: Checking, each: Callable[[], bool]
    ) -> Checked | None:
        """Look for proofs of N: facts that were met are added to C, those that hold to K, which are
        empty before. `each` is called now and then, and may raise. None, with nothing done, where
        facts must be checked by sets."""


class OwnEvaluation(Protocol):
    """Evaluates some strata in a way of its own."""

    def evaluate(self, stratum: Stratum, watch: Any) -> bool:
        """Derive a stratum, of which the materialisation has the explicit facts. False, and
        nothing is done, if it is not one of these strata."""


class UpdateSets(Protocol):
    """Keeps facts apart that belong to different updates under way."""

    def odd(self, saved: Sequence[Saved]) -> FactSet:
        """The facts that an odd number of these have."""

    def joined(self, saved: Sequence[Saved]) -> Saved:
        """The facts of all of these sets, which are disjoint."""

    def sizes_of(self, saved: Saved) -> Mapping[str, int]:
        """The number of facts by relation, for relations with facts in it."""

    def as_before(self, deleted: FactSet, inserted: FactSet) -> AbstractContextManager[None]:
        """Restore the materialisation, for the block, as it was before these facts were deleted
        and inserted. Ages stay, and the block adds nothing to undo. The two sets must not be used
        in the block, nor after an error, and their relations must not be set aside."""


class PartialCommits(Protocol):
    """Commits what has settled while a transaction stays open."""

    def keep(self) -> None:
        """Keep the changes so far; only later ones can be rolled back."""

    @property
    def litter(self) -> int:
        """About how many deleted facts still use memory."""

    def tidy(self, most: int) -> bool:
        """Free the memory of at most this many of them; False if none are left. No set but the
        explicit facts and the materialisation may hold facts."""


@dataclass(slots=True)
class Measure:
    """What one rule did in one evaluation."""

    rule: Rule
    seconds: float
    instances: int
    facts: int


class Profiles(Protocol):
    """Measures rules one by one."""

    def profile(self, record: Callable[[Measure], None] | None) -> None:
        """From now on, call `record` with what each rule does; None ends that."""


class JoinOrders(Protocol):
    """Chooses the order in which a rule's body is joined."""

    def join_order(self, rule: Rule) -> str:
        """How it would join the body now."""


class TemporaryRelations(Protocol):
    """Derives facts for a moment, beside those of the program, and forgets them."""

    def scope(self) -> AbstractContextManager[None]:
        """Release the sets made in the block at its end, even if a traceback refers to them."""

    def drop(self, relations: Iterable[str], rules: Iterable[Rule]) -> None:
        """Forget relations that were declared for a moment, with their facts, and their rules."""
