import SheafBytes
import SheafStorage

/// A reference model of a store: the list of all its past states.
struct StoreModel {
    /// One change of a key; the payload hash is zero for a removal.
    package struct Change: Equatable {
        let key: Int
        let kind: SheafStorage.Operation.Kind
        let payload: UInt64
    }

    /// A change and its commit.
    struct Write: Equatable {
        let commit: CommitID
        let change: Change
    }

    /// The number of keys.
    let keyCount: Int
    /// The payload hashes of each key after each commit: the put, then its delta records; empty if
    /// the key is absent.
    private(set) var states: [[[UInt64]]]
    /// All changes of each key, in commit order.
    private(set) var writes: [[Write]]

    /// Creates an empty model of at most 255 keys.
    init(keyCount: Int = 12) {
        self.keyCount = keyCount
        states = [Array(repeating: [], count: keyCount)]
        writes = Array(repeating: [], count: keyCount)
    }

    /// The last commit.
    var last: CommitID { CommitID(states.count - 1) }

    /// Applies a commit.
    mutating func commit(_ changes: [Change]) {
        guard var state = states.last else { return }
        let commit = last + 1
        for change in changes {
            switch change.kind {
            case .put: state[change.key] = [change.payload]
            case .delta: state[change.key].append(change.payload)
            case .remove: state[change.key] = []
            }
            writes[change.key].append(Write(commit: commit, change: change))
        }
        states.append(state)
    }

    /// Discards all commits after `commit`, as a crash does.
    mutating func rewind(to commit: CommitID) {
        states.removeSubrange((Int(commit) + 1)...)
        for key in writes.indices {
            while let write = writes[key].last, write.commit > commit { writes[key].removeLast() }
        }
    }

    /// Returns the bytes of a key; two thirds of the keys share a long prefix.
    static func key(_ index: Int) -> [UInt8] { keys[index] }

    /// All keys; made once, because each check reads all keys of the model.
    private static let keys: [[UInt8]] = (0..<255).map { index in
        index % 3 == 0
            ? [UInt8(truncatingIfNeeded: index + 1)]
            : Array("collection/with a long name/".utf8) + [UInt8(truncatingIfNeeded: index)]
    }
}

/// A mismatch that a simulation has found.
package struct Violation: Error, CustomStringConvertible, Sendable {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension StoreModel {
    /// Verifies a snapshot against the state of the model at the same commit.
    func check(_ snapshot: LogSnapshot) throws {
        guard Int(snapshot.commit) < states.count else {
            throw Violation("commit \(snapshot.commit) does not exist; the last commit is \(last)")
        }
        let expected = states[Int(snapshot.commit)]
        for (index, payload) in expected.enumerated() {
            let key = Self.key(index)
            let found = try key.span.withUnsafeBytes { key in
                try snapshot.operations(of: key).reversed().map {
                    XXH3.hash64($0.operation.payload)
                }
            }
            guard found == payload else {
                throw Violation(
                    "key \(index) after commit \(snapshot.commit) is \(describe(found)), "
                        + "not \(describe(payload))")
            }
        }
        let count = expected.count { !$0.isEmpty }
        guard snapshot.count == count else {
            throw Violation("the tree counts \(snapshot.count) keys, not \(count)")
        }
    }

    /// Verifies that the history of each key lists its changes, newest first.
    ///
    /// All changes of the last `kept` commits must be present, and the state before them must be
    /// reconstructible.
    func checkChains(_ snapshot: LogSnapshot, kept: CommitID) throws {
        let horizon = snapshot.commit - min(kept, snapshot.commit)
        for index in 0..<keyCount {
            var rest = writes[index].filter { $0.commit <= snapshot.commit }
            let shown = try follow(index, in: snapshot, &rest)
            try checkPast(index, in: snapshot, asOf: horizon)
            guard let missing = rest.last else { continue }
            // A removal may be dropped once it hides no older operation.
            let isReadable =
                missing.change.kind == .remove
                ? missing.commit <= horizon
                : shown.contains { $0.commit <= horizon && $0.change.kind != .delta }
            guard isReadable else {
                throw Violation(
                    "the chain of key \(index) lacks commit \(missing.commit) of "
                        + "\(snapshot.commit); \(kept) commits must be kept")
            }
        }
    }

    /// Compares a key with its state at an older commit.
    private func checkPast(
        _ index: Int, in snapshot: LogSnapshot, asOf commit: CommitID
    ) throws {
        let key = Self.key(index)
        let found = try key.span.withUnsafeBytes { key in
            try snapshot.operations(of: key, asOf: commit)?.reversed().map {
                XXH3.hash64($0.operation.payload)
            }
        }
        let expected = states[Int(commit)][index]
        guard found == expected, snapshot.compactedThrough <= commit else {
            throw Violation(
                "in commit \(snapshot.commit), key \(index) after commit \(commit) is "
                    + "\(found.map(describe) ?? "unknown"), not \(describe(expected))")
        }
    }

    /// Compares the history of a key with `writes`, newest first, and removes the matches.
    ///
    /// Returns the matching changes.
    private func follow(
        _ index: Int, in snapshot: LogSnapshot, _ writes: inout [Write]
    ) throws -> [Write] {
        let key = Self.key(index)
        var history = key.span.withUnsafeBytes { snapshot.history(of: $0) }
        var shown: [Write] = []
        while let found = try history.next() {
            guard let write = writes.popLast() else {
                throw Violation("the chain of key \(index) has an extra entry at \(found.position)")
            }
            let operation = found.operation
            let seen = Write(
                commit: found.commit,
                change: Change(
                    key: index, kind: operation.kind,
                    payload: operation.kind == .remove ? 0 : XXH3.hash64(operation.payload)))
            guard seen == write else {
                throw Violation(
                    "the chain of key \(index) shows \(describe(seen)) at \(found.position) "
                        + "instead of \(describe(write))")
            }
            shown.append(write)
        }
        return shown
    }

    private func describe(_ payloads: [UInt64]) -> String {
        payloads.isEmpty
            ? "absent" : payloads.map { String($0, radix: 16) }.joined(separator: " and ")
    }

    private func describe(_ write: Write) -> String {
        "\(write.change.kind) \(String(write.change.payload, radix: 16)) of commit \(write.commit)"
    }
}

extension XXH3 {
    /// Returns the hash of an array.
    static func hash64(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { hash64($0) }
    }
}
