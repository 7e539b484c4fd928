import SheafDocument
import Synchronization

/// The counters and IDs of the generators of one system, shared by its tasks.
package final class GeneratorState: Sendable {
    private struct State {
        var counters: [Int64]
        var ids: [String: InsertedIDs]
    }

    private let state: Mutex<State>

    /// An ID that was generated for a new document.
    package struct NewID: Sendable {
        let collection: String
        let number: Int
    }

    /// An error of a generator.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Creates the initial state: all systems of a run generate the same setup.
    package init(_ file: WorkloadFile) {
        let ids = file.risingIDs.mapValues {
            InsertedIDs(isRising: $0, seed: RandomSource.mix(file.settings.seed))
        }
        state = Mutex(State(counters: Array(repeating: 0, count: file.sequenceCount), ids: ids))
    }

    /// Records that the documents of these IDs were inserted.
    package func finish(_ ids: [NewID]) {
        guard !ids.isEmpty else { return }
        state.withLock { state in
            for id in ids { state.ids[id.collection]?.finish(id.number) }
        }
    }

    /// Returns the number of earlier reads of the counter of a sequence, and counts this one.
    func count(_ slot: Int) -> Int64 {
        state.withLock { state in
            defer { state.counters[slot] += 1 }
            return state.counters[slot]
        }
    }

    func newID(_ collection: String) throws(Failure) -> (text: String, id: NewID) {
        let result = state.withLock { state -> (String, NewID)? in
            guard let number = state.ids[collection]?.next(),
                let text = state.ids[collection]?.text(number)
            else { return nil }
            return (text, NewID(collection: collection, number: number))
        }
        guard let result else { throw Failure(description: "unknown collection \(collection)") }
        return result
    }

    func id(
        _ collection: String, _ choice: Generator.IDChoice, _ random: inout RandomSource
    ) throws(Failure) -> String {
        // The lock is not held while the random source is used, so IDs are copied.
        guard let ids = state.withLock({ $0.ids[collection]?.bounds }),
            let number = ids.choose(choice, &random)
        else { throw Self.missing(collection) }
        return ids.text(number)
    }

    func oldestID(_ collection: String) throws(Failure) -> String {
        let text = state.withLock { state -> String? in
            guard let number = state.ids[collection]?.takeOldest() else { return nil }
            return state.ids[collection]?.text(number)
        }
        guard let text else { throw Self.missing(collection) }
        return text
    }

    private static func missing(_ collection: String) -> Failure {
        Failure(
            description: "no document with new_id(\"\(collection)\") is left; insert more of them "
                + "in a [setup] section or in the mix")
    }
}
