"""Made-up streams that write down what is done with them, for tests of orders without a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False)
class Event:
    """What a stream recorded."""

    name: str
    done: bool = False

    def query(self) -> bool:
        return self.done


@dataclass(eq=False)
class Stream:
    """A stream's name, and a log that all of a test share."""

    name: str
    log: list[str]
    cuda_stream: int = 0
    device: str = "cuda:0"
    events: list[Event] = field(default_factory=list)

    def wait_stream(self, other: Stream) -> None:
        self.log.append(f"{self.name} waits for {other.name}")

    def wait_event(self, event: Event) -> None:
        self.log.append(f"{self.name} waits for {event.name}")

    def record_event(self) -> Event:
        self.events.append(Event(f"{self.name}#{len(self.events)}"))
        self.log.append(f"{self.name} records {self.events[-1].name}")
        return self.events[-1]

    def query(self) -> bool:
        return False
