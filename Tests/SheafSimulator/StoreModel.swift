import SheafBytes
import SheafStorage

/// The dullest store there could be: a list of all states that it ever had.
struct StoreModel {
    /// One write of a key: the hash of its payload, or none for a removal.
    struct Write: Equatable {
        let commit: CommitID
        let payload: UInt64?
    }

    /// How many keys there are.
    let keyCount: Int
    /// The hash of each key's payload after commit n, at n; none where the key is absent.
    private(set) var states: [[UInt64?]]
    /// Everything that was written to each key, in order.
    private(set) var writes: [[Write]]

    /// Starts empty; there can be at most 255 keys.
    init(keyCount: Int = 12) {
        self.keyCount = keyCount
        states = [Array(repeating: nil, count: keyCount)]
        writes = Array(repeating: [], count: keyCount)
    }

    /// The last commit.
    var last: CommitID { CommitID(states.count - 1) }

    /// Adds a commit; each change is a key and the hash of its payload.
    mutating func commit(_ changes: [(key: Int, payload: UInt64?)]) {
        guard var state = states.last else { return }
        let commit = last + 1
        for (key, payload) in changes {
            state[key] = payload
            writes[key].append(Write(commit: commit, payload: payload))
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
                try snapshot.payload(of: key).map { XXH3.hash64($0) }
            }
            guard found == payload else {
                throw Violation(
                    "key \(index) after commit \(snapshot.commit) is \(describe(found)), "
                        + "not \(describe(payload))")
            }
        }
        let count = expected.count { $0 != nil }
        guard snapshot.count == count else {
            throw Violation("the tree counts \(snapshot.count) keys, there are \(count)")
        }
    }

    /// Follows the chain of each key, which must show its writes, the newest first.
    ///
    /// All writes of the last `kept` commits must be there, and the one before them, so that the
    /// state after each of these commits can still be read.
    func checkChains(_ snapshot: LogSnapshot, kept: CommitID) throws {
        let horizon = snapshot.commit - min(kept, snapshot.commit)
        for index in 0..<keyCount {
            var rest = writes[index].filter { $0.commit <= snapshot.commit }
            let oldest = try follow(index, in: snapshot, &rest)
            guard let missing = rest.last else { continue }
            // A removal need not be there when nothing is left that it would hide.
            let isReadable =
                missing.payload == nil
                ? missing.commit <= horizon : oldest.map { $0 <= horizon } ?? false
            guard isReadable else {
                throw Violation(
                    "the chain of key \(index) lacks commit \(missing.commit) of "
                        + "\(snapshot.commit), \(kept) are to be kept")
            }
        }
    }

    /// Compares the chain of a key with the last of `writes`, and takes those away that it shows.
    ///
    /// Returns the commit of the oldest one.
    private func follow(
        _ index: Int, in snapshot: LogSnapshot, _ writes: inout [Write]
    ) throws -> CommitID? {
        let key = Self.key(index)
        let place = key.span.withUnsafeBytes { key in
            snapshot.place(of: key) ?? snapshot.removal(of: key)
        }
        var position = place?.position ?? .none
        var oldest: CommitID?
        while position != .none {
            guard let operation = try snapshot.segments.operation(at: position) else { break }
            guard let write = writes.popLast() else {
                throw Violation("the chain of key \(index) goes on at \(position)")
            }
            let payload = operation.kind == .put ? XXH3.hash64(operation.payload) : nil
            guard payload == write.payload else {
                throw Violation(
                    "the chain of key \(index) shows \(describe(payload)) at \(position) "
                        + "where commit \(write.commit) wrote \(describe(write.payload))")
            }
            guard operation.previous < position else {
                throw Violation("the chain of key \(index) turns at \(position)")
            }
            oldest = write.commit
            position = operation.previous
        }
        return oldest
    }

    private func describe(_ payload: UInt64?) -> String {
        payload.map { String($0, radix: 16) } ?? "absent"
    }
}

extension XXH3 {
    /// The hash of an array.
    static func hash64(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { hash64($0) }
    }
}
