import SheafBytes
import SheafStorage

/// The dullest store there could be: a list of all states that it ever had.
struct StoreModel {
    /// One change of a key, with the hash of its payload, which is zero for a removal.
    struct Change: Equatable {
        let key: Int
        let kind: SheafStorage.Operation.Kind
        let payload: UInt64
    }

    /// A change, and the commit that made it.
    struct Write: Equatable {
        let commit: CommitID
        let change: Change
    }

    /// How many keys there are.
    let keyCount: Int
    /// What each key stands on after commit n, at n: hashes of payloads, the put's first; none where
    /// the key is absent.
    private(set) var states: [[[UInt64]]]
    /// Everything that was written to each key, in order.
    private(set) var writes: [[Write]]

    /// Starts empty; there can be at most 255 keys.
    init(keyCount: Int = 12) {
        self.keyCount = keyCount
        states = [Array(repeating: [], count: keyCount)]
        writes = Array(repeating: [], count: keyCount)
    }

    /// The last commit.
    var last: CommitID { CommitID(states.count - 1) }

    /// Adds a commit.
    mutating func commit(_ changes: [Change]) {
        guard var state = states.last else { return }
        let commit = last + 1
        for change in changes {
            switch change.kind {
            case .put: state[change.key] = [change.payload]
            case .extend: state[change.key].append(change.payload)
            case .remove: state[change.key] = []
            }
            writes[change.key].append(Write(commit: commit, change: change))
        }
        states.append(state)
    }

    /// Forgets every commit after `commit`, as a crash does.
    mutating func rewind(to commit: CommitID) {
        states.removeSubrange((Int(commit) + 1)...)
        for key in writes.indices {
            while let write = writes[key].last, write.commit > commit { writes[key].removeLast() }
        }
    }

    /// The bytes of a key: a few share a long beginning.
    static func key(_ index: Int) -> [UInt8] {
        index % 3 == 0
            ? [UInt8(truncatingIfNeeded: index + 1)]
            : Array("collection/with a long name/".utf8) + [UInt8(truncatingIfNeeded: index)]
    }
}

/// What a simulation found wrong.
package struct Violation: Error, CustomStringConvertible, Sendable {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension StoreModel {
    /// Compares a snapshot with the state that the model had after the same commit.
    func check(_ snapshot: LogSnapshot) throws {
        guard Int(snapshot.commit) < states.count else {
            throw Violation("commit \(snapshot.commit) was never made, the last is \(last)")
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
            throw Violation("the tree counts \(snapshot.count) keys, there are \(count)")
        }
    }

    /// Follows the chain of each key, which must show its writes, the newest first.
    ///
    /// All writes of the last `kept` commits must be there, and the one before them with what it
    /// stands on, so that the state after each of these commits can still be read.
    func checkChains(_ snapshot: LogSnapshot, kept: CommitID) throws {
        let horizon = snapshot.commit - min(kept, snapshot.commit)
        for index in 0..<keyCount {
            var rest = writes[index].filter { $0.commit <= snapshot.commit }
            let shown = try follow(index, in: snapshot, &rest)
            try checkPast(index, in: snapshot, asOf: horizon)
            guard let missing = rest.last else { continue }
            // A removal need not be there when nothing is left that it would hide.
            let isReadable =
                missing.change.kind == .remove
                ? missing.commit <= horizon
                : shown.contains { $0.commit <= horizon && $0.change.kind != .extend }
            guard isReadable else {
                throw Violation(
                    "the chain of key \(index) lacks commit \(missing.commit) of "
                        + "\(snapshot.commit), \(kept) are to be kept")
            }
        }
    }

    /// Compares a key with what it stood on after an older commit.
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
        guard found == expected, snapshot.foldedThrough <= commit else {
            throw Violation(
                "of \(snapshot.commit), key \(index) after commit \(commit) is "
                    + "\(found.map(describe) ?? "not known"), not \(describe(expected))")
        }
    }

    /// Compares the chain of a key with the last of `writes`, and takes those away that it shows.
    ///
    /// Returns those that it shows.
    private func follow(
        _ index: Int, in snapshot: LogSnapshot, _ writes: inout [Write]
    ) throws -> [Write] {
        let key = Self.key(index)
        var history = key.span.withUnsafeBytes { snapshot.history(of: $0) }
        var shown: [Write] = []
        while let found = try history.next() {
            guard let write = writes.popLast() else {
                throw Violation("the chain of key \(index) goes on at \(found.position)")
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
                        + "and should show \(describe(write))")
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
    /// The hash of an array.
    static func hash64(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { hash64($0) }
    }
}
