package import SheafStorage

/// Received batches that are not durable yet, by the key of the peer that sent them.
///
/// They are written even if their connection or subscription ends before.
package struct UnfinishedWrites {
    /// The peers whose batches a job is writing, by connection.
    private var writing: [UInt64: [UInt8]] = [:]
    /// The last commits that contain batches, by peer; durable ones are removed.
    private var written: [[UInt8]: CommitID] = [:]

    package init() {}

    /// Whether batches of a peer are being written, or wait to become durable.
    package func has(_ key: [UInt8]) -> Bool {
        written[key] != nil || writing.values.contains(key)
    }

    /// Records that a job writes batches of a connection; a connection has one such job at a time.
    package mutating func begin(on connection: UInt64, from key: [UInt8]) {
        writing[connection] = key
    }

    /// Records the end of a job and its last commit, if there is one.
    package mutating func end(
        on connection: UInt64, through commit: CommitID?, durable: CommitID
    ) {
        guard let key = writing.removeValue(forKey: connection), let commit, commit > durable
        else { return }
        written[key] = max(written[key] ?? 0, commit)
    }

    /// Removes the batches that are durable.
    package mutating func removeDurable(through durable: CommitID) {
        guard !written.isEmpty else { return }
        written = written.filter { $0.value > durable }
    }
}
