package import SheafDocument
import SheafTestSupport

/// A random history of peers that write one document, each with a site and a clock.
///
/// It maintains the model of each peer's document; implementations under test apply the same steps.
package struct ModelHistory: Sendable {
    package enum HistoryEvent: Sendable {
        case write(ModelWrite, peer: Int, stamp: Stamp)
        /// A join of one peer's state into another's.
        case join(from: Int, into: Int)

        /// The peer whose state changes.
        package var peer: Int {
            switch self {
            case .write(_, let peer, _), .join(_, into: let peer): peer
            }
        }

        /// Applies the step to `documents`, one of each peer.
        package func apply<Document: MergingDocument>(to documents: inout [Document]) {
            switch self {
            case .write(let write, let peer, let stamp):
                documents[peer].apply(write, stamp: stamp)
            case .join(let from, let into):
                documents[into] = documents[into].joined(with: documents[from])
            }
        }
    }

    /// A clock with its own speed, whose stamps are later than all it has seen.
    private struct Clock {
        let site: Site
        let speed: UInt64
        var latest = HybridTime.initial

        mutating func next(at step: UInt64) -> Stamp {
            latest = max(
                HybridTime(rawValue: latest.rawValue + 1), HybridTime(rawValue: step * speed / 4))
            return Stamp(latest, site)
        }
    }

    /// The document of each peer.
    package private(set) var documents: [ModelDocument]
    /// The empty document, then the changed document after each step.
    package private(set) var states: [ModelDocument]

    private var clocks: [Clock]
    private var random: SeededRandom
    private var writes: RandomWrite
    private var stepCount: UInt64 = 0

    package init(seed: UInt64, peers: Int) {
        var random = SeededRandom(seed: seed, "history")
        documents = Array(repeating: ModelDocument(), count: peers)
        states = [ModelDocument()]
        // Slow clocks produce equal times, because they count from the latest time seen.
        clocks = (1...peers).shuffled(using: &random).map {
            Clock(site: Site(rawValue: UInt64($0)), speed: UInt64(random.below(7)))
        }
        self.random = random
        writes = RandomWrite(seed: seed)
    }

    /// Draws, applies and returns the next step.
    package mutating func next() -> HistoryEvent {
        let step = draw()
        step.apply(to: &documents)
        states.append(documents[step.peer])
        let seen = documents[step.peer].latestTime
        clocks[step.peer].latest = max(clocks[step.peer].latest, seen)
        return step
    }

    private mutating func draw() -> HistoryEvent {
        stepCount += 1
        let peer = random.below(documents.count)
        if documents.count > 1, random.chance(2, in: 5) {
            let other = (peer + 1 + random.below(documents.count - 1)) % documents.count
            return .join(from: other, into: peer)
        }
        let write = writes.write(isPresent: documents[peer].isPresent(.map, at: []))
        if case .insertInitial = write { return .write(write, peer: peer, stamp: .initial) }
        return .write(write, peer: peer, stamp: clocks[peer].next(at: stepCount))
    }
}
