package import SheafDocument
import SheafEngine
package import SheafStorage
import SheafSync

/// Documents that one peer sent in an older state than the local one.
///
/// Read repair sends their current state. Neither the cursor of the peer nor its subscription shows
/// that it lacks that state, so the documents are kept across connections until the peer
/// acknowledges them.
struct ReadRepair {
    /// The documents that are not acknowledged yet.
    private(set) var documents: Set<DocumentAddress> = []
    /// The documents sent, with the commit of their batch.
    private var sent: [(commit: CommitID, documents: Set<DocumentAddress>)] = []

    mutating func insert(_ address: DocumentAddress) {
        documents.insert(address)
        // A state sent earlier may be outdated, so its acknowledgment is ignored.
        for index in sent.indices { sent[index].documents.remove(address) }
    }

    mutating func recordSent(_ addresses: Set<DocumentAddress>, with commit: CommitID) {
        sent.append((commit, addresses.intersection(documents)))
    }

    mutating func recordAcknowledged(_ commit: CommitID) {
        let count = sent.prefix { $0.commit <= commit }.count
        for (_, addresses) in sent[..<count] { documents.subtract(addresses) }
        sent.removeFirst(count)
    }

    /// Discards the sent batches: after a new connection or subscription they may be lost.
    mutating func beginAnew() { sent = [] }
}

/// The documents that need read repair, by the keys of the peers.
package struct ReadRepairTable {
    private struct Entry {
        var repairs = ReadRepair()
        /// Value of `changeCount` when a document was added last.
        var changedAt: UInt64 = 0
    }

    private var entries: [[UInt8]: Entry] = [:]
    private var changeCount: UInt64 = 0
    /// Maximum number of documents of all peers; beyond it a peer reconciles.
    private let most: Int
    package private(set) var count = 0
    /// The commit up to which a resuming peer may lack repairs; nil if none were discarded.
    package private(set) var discardedThrough: CommitID?

    package static let maximumDocuments = 1 << 16

    package init(most: Int) {
        self.most = most
    }

    /// Whether more documents are kept than the maximum.
    package var isOverfull: Bool { count > most }

    /// Returns the documents whose newer states a peer has not acknowledged.
    package func documents(for key: [UInt8]) -> Set<DocumentAddress> {
        entries[key]?.repairs.documents ?? []
    }

    package mutating func insert(_ address: DocumentAddress, for key: [UInt8]) {
        changeCount += 1
        entries[key, default: Entry()].changedAt = changeCount
        change(key) { $0.insert(address) }
    }

    package mutating func recordSent(
        _ addresses: Set<DocumentAddress>, with commit: CommitID, to key: [UInt8]
    ) {
        change(key) { $0.recordSent(addresses, with: commit) }
    }

    package mutating func recordAcknowledged(_ commit: CommitID, by key: [UInt8]) {
        change(key) { $0.recordAcknowledged(commit) }
    }

    package mutating func beginAnew(_ key: [UInt8]) {
        change(key) { $0.beginAnew() }
    }

    private mutating func change(_ key: [UInt8], _ body: (inout ReadRepair) -> Void) {
        guard var repairs = entries[key]?.repairs else { return }
        count -= repairs.documents.count
        // The table's reference is released first, so that `body` does not copy the set.
        entries[key]?.repairs = ReadRepair()
        body(&repairs)
        count += repairs.documents.count
        if repairs.documents.isEmpty {
            entries[key] = nil
        } else {
            entries[key]?.repairs = repairs
        }
    }

    /// Removes the documents of peers until the maximum is met; returns the keys of these peers.
    ///
    /// Disconnected peers go first, the least recently changed before others, then the peers with
    /// the most documents.
    package mutating func discardExcess(
        connected: Set<[UInt8]>, newest commit: CommitID
    ) -> [[UInt8]] {
        var discarded: [[UInt8]] = []
        while count > most {
            let absent = entries.filter { !connected.contains($0.key) }
            let victim =
                absent.min { $0.value.changedAt < $1.value.changedAt }
                ?? entries.max {
                    ($0.value.repairs.documents.count, $1.value.changedAt)
                        < ($1.value.repairs.documents.count, $0.value.changedAt)
                }
            guard let victim else { break }
            count -= victim.value.repairs.documents.count
            entries[victim.key] = nil
            discarded.append(victim.key)
            discardedThrough = commit
        }
        return discarded
    }
}
