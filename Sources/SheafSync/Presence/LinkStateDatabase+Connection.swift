extension LinkStateDatabase {
    package struct Connection: Sendable {
        let number: UInt64
        let key: [UInt8]
        let kind: UInt8
        /// The neighbor's own record, received over this connection.
        var selfRecord: PeerRecord?
        /// The versions of stored records that the neighbor is known to have.
        var acknowledged = AcknowledgedVersions()
        /// Keys of the records to send, in order.
        var queue: [[UInt8]] = []
        /// The queued keys; true for a record that is sent even if its peer is unreachable.
        var queued: [[UInt8]: Bool] = [:]
        /// Whether a message is unacknowledged.
        var isSender = false
        /// Whether the last message of the neighbor must still be acknowledged.
        var owes = false
        var tookAt: UInt64?

        /// Earliest time at which the last message of the neighbor is acknowledged.
        var mayTakeAt: UInt64 { tookAt.map { $0 + PresenceLimits.acknowledgmentInterval } ?? 0 }

        /// Whether an action may be due now or later, without a further event.
        var isBusy: Bool { owes || (!isSender && !queue.isEmpty) }

        mutating func enqueue(_ key: [UInt8], evenHidden: Bool = false) {
            if queued[key] == nil { queue.append(key) }
            queued[key] = queued[key] == true || evenHidden
        }

        /// Removes the first keys of the queue.
        mutating func dequeue(_ count: Int) {
            guard count < queue.count else {
                // An idle connection keeps no memory for the queue.
                (queue, queued) = ([], [:])
                return
            }
            for key in queue.prefix(count) { queued[key] = nil }
            queue.removeFirst(count)
        }
    }

    /// The number of a stored record, and that of its version, which are small.
    struct RecordNumber: Sendable {
        let record: Int
        var version: UInt32
    }

    /// The versions of records that a neighbor is known to have, by the numbers of the records.
    ///
    /// A version that is no longer stored counts as none.
    struct AcknowledgedVersions: Sendable {
        private var versions: [UInt32] = []

        /// Whether the neighbor has the stored version of a record.
        func contains(_ number: RecordNumber) -> Bool {
            number.record < versions.count && versions[number.record] == number.version
        }

        mutating func insert(_ number: RecordNumber) {
            while versions.count <= number.record { versions.append(0) }
            versions[number.record] = number.version
        }

        mutating func remove(_ number: RecordNumber) {
            if number.record < versions.count { versions[number.record] = 0 }
        }
    }

    /// The numbers of records, which are used again after a record is removed.
    struct RecordNumbers: Sendable {
        private var free: [Int] = []
        private var count = 0
        private var versionCount: UInt32 = 0

        /// Returns the number of a new record, or that of a new version of a record.
        mutating func next(after old: RecordNumber?) -> RecordNumber {
            versionCount &+= 1
            if versionCount == 0 { versionCount = 1 }
            if var old {
                old.version = versionCount
                return old
            }
            if let record = free.popLast() {
                return RecordNumber(record: record, version: versionCount)
            }
            count += 1
            return RecordNumber(record: count - 1, version: versionCount)
        }

        mutating func release(_ number: RecordNumber) { free.append(number.record) }
    }
}
