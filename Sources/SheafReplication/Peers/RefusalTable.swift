package import SheafDocument
import SheafEngine
import SheafQuery
package import SheafStorage
import SheafSync
import SheafTransport

/// Local documents that other peers refuse for lack of rights, by the keys of the peers.
///
/// An entry is removed when the peer acknowledges the document without refusing it again, when it
/// sends all local writes of the document, or when the document is evicted locally. The table is
/// kept in memory only: after a restart the two sides reconcile, and the document is sent and
/// refused again.
package struct RefusalTable {
    /// A refused document.
    package struct Entry {
        /// The local commits of the document that the peer lacks, ascending.
        fileprivate(set) var commits: [CommitID] = []
        fileprivate(set) var reason: RefusedWrite.Reason
        fileprivate var milliseconds: UInt64
        /// The commit whose acknowledgment shows that the peer has accepted the document.
        ///
        /// It is nil until the document is sent again.
        fileprivate var acceptingCommit: CommitID?
    }

    /// The refused documents of one peer.
    private struct Documents {
        var entries: [DocumentAddress: Entry] = [:]
        var omitted: UInt64 = 0
        var omittedThrough: CommitID = 0
        var omittedTakenWith: CommitID?

        var isEmpty: Bool { entries.isEmpty && omitted == 0 }
    }

    /// Limits on the documents of one peer, the documents of all peers, and the bytes of addresses.
    package static let maximumOfPeer = 1_024
    package static let maximumCount = 8_192
    package static let maximumBytes = 4 << 20

    private var peers: [[UInt8]: Documents] = [:]
    private var count = 0
    private var byteCount = 0
    /// The peers whose refusals have changed, with the newly refused documents.
    private var changed: [[UInt8]: Set<DocumentAddress>] = [:]

    package init() {}

    package var isEmpty: Bool { peers.isEmpty }

    /// Whether a peer refuses the local state of a document.
    package func has(_ address: DocumentAddress, of key: [UInt8]) -> Bool {
        peers[key]?.entries[address] != nil
    }

    /// Whether a peer refuses any documents.
    package func has(_ key: [UInt8]) -> Bool { peers[key] != nil }

    /// Returns the documents that a peer refuses.
    package func addresses(of key: [UInt8]) -> Set<DocumentAddress> {
        peers[key].map { Set($0.entries.keys) } ?? []
    }

    // MARK: Refused documents

    /// Records a refused document, with the local commits of it that the peer lacks.
    package mutating func add(
        _ address: DocumentAddress, _ commits: [CommitID], _ reason: RefusedWrite.Reason,
        of key: [UInt8], milliseconds: UInt64
    ) {
        var documents = peers[key] ?? Documents()
        if var entry = documents.entries[address] {
            let isKnown = commits.allSatisfy(entry.commits.contains)
            // The reason `ownGrant` is kept, since the peer itself also refuses such a document.
            let isOld = isKnown && (entry.reason == reason || entry.reason == .ownGrant)
            entry.acceptingCommit = nil
            if !isOld { entry.reason = reason }
            entry.merge(commits)
            if !isOld {
                entry.milliseconds = milliseconds
                changed[key, default: []].insert(address)
            }
            documents.entries[address] = entry
        } else if documents.entries.count < Self.maximumOfPeer, count < Self.maximumCount,
            byteCount + address.memoryLength <= Self.maximumBytes
        {
            var entry = Entry(reason: reason, milliseconds: milliseconds)
            entry.merge(commits)
            documents.entries[address] = entry
            (count, byteCount) = (count + 1, byteCount + address.memoryLength)
            changed[key, default: []].insert(address)
        } else {
            return omit(1, through: commits.last ?? 0, of: key)
        }
        peers[key] = documents
    }

    /// Counts refused documents up to `commit` that get no entry.
    package mutating func omit(_ count: UInt64, through commit: CommitID, of key: [UInt8]) {
        guard count > 0 else { return }
        var documents = peers[key] ?? Documents()
        let (sum, isTooMuch) = documents.omitted.addingReportingOverflow(count)
        documents.omitted = isTooMuch ? .max : sum
        documents.omittedThrough = max(documents.omittedThrough, commit)
        documents.omittedTakenWith = nil
        peers[key] = documents
        changed[key, default: []].formUnion([])
    }

    // MARK: Accepted documents

    /// Records that a document is sent again, with the batch of `commit`.
    package mutating func recordSent(
        _ address: DocumentAddress, with commit: CommitID, to key: [UInt8]
    ) {
        guard peers[key]?.entries[address] != nil else { return }
        peers[key]?.entries[address]?.acceptingCommit = commit
    }

    /// Records that a peer has reconciled its complete subscription with `commit`.
    ///
    /// Before it acknowledges the commit it refuses again each document that it does not accept.
    /// This does not apply to documents that this peer's own grant forbids, since they are not
    /// sent.
    package mutating func recordCompared(
        with commit: CommitID, by key: [UInt8], except unsendable: Set<DocumentAddress>
    ) {
        guard let documents = peers[key] else { return }
        for address in documents.entries.keys where !unsendable.contains(address) {
            peers[key]?.entries[address]?.acceptingCommit = commit
        }
        peers[key]?.omittedTakenWith = commit
    }

    /// Discards the expected acknowledgments of a peer, which has a new subscription.
    package mutating func beginAnew(_ key: [UInt8]) {
        guard let documents = peers[key] else { return }
        for (address, entry) in documents.entries where entry.acceptingCommit != nil {
            peers[key]?.entries[address]?.acceptingCommit = nil
        }
        peers[key]?.omittedTakenWith = nil
    }

    /// Removes the documents that a peer has accepted by acknowledging `commit`.
    package mutating func recordAcknowledged(_ commit: CommitID, by key: [UInt8]) {
        guard let documents = peers[key] else { return }
        for (address, entry) in documents.entries {
            if let takenWith = entry.acceptingCommit, takenWith <= commit {
                remove(address, of: key)
            }
        }
        if let takenWith = documents.omittedTakenWith, takenWith <= commit {
            removeOmitted(of: key)
        }
    }

    /// Removes the entry of a document for one peer.
    package mutating func remove(_ address: DocumentAddress, of key: [UInt8]) {
        guard var documents = peers[key], documents.entries.removeValue(forKey: address) != nil
        else { return }
        count -= 1
        byteCount -= address.memoryLength
        peers[key] = documents.isEmpty ? nil : documents
        changed[key, default: []].remove(address)
    }

    /// Removes the entries of a document for all peers.
    package mutating func remove(_ address: DocumentAddress) {
        for key in Array(peers.keys) { remove(address, of: key) }
    }

    private mutating func removeOmitted(of key: [UInt8]) {
        guard var documents = peers[key] else { return }
        (documents.omitted, documents.omittedThrough) = (0, 0)
        documents.omittedTakenWith = nil
        peers[key] = documents.isEmpty ? nil : documents
        changed[key, default: []].formUnion([])
    }

    /// Removes the entries of all peers that are not in `known`.
    package mutating func discard(but known: Set<[UInt8]>) {
        for key in Array(peers.keys) where !known.contains(key) {
            for address in addresses(of: key) { remove(address, of: key) }
            removeOmitted(of: key)
        }
    }

    // MARK: Reports

    /// Returns the peers whose refusals have changed since the last call, with the new refusals.
    package mutating func drainChanges() -> [(
        key: [UInt8], all: PeerRefusals, new: [RefusedWrite]
    )] {
        guard !changed.isEmpty else { return [] }
        defer { changed = [:] }
        return changed.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, addresses in
            let new = addresses.sorted(by: <).compactMap { write($0, of: key) }
            return (key, refusals(of: key), new)
        }
    }

    /// Returns all refusals of a peer, in address order.
    package func refusals(of key: [UInt8]) -> PeerRefusals {
        guard let documents = peers[key] else { return PeerRefusals() }
        return PeerRefusals(
            writes: documents.entries.keys.sorted(by: <).compactMap { write($0, of: key) },
            omitted: documents.omitted, omittedThrough: documents.omittedThrough)
    }

    /// Returns the refusal of one document, or nil.
    package func write(_ address: DocumentAddress, of key: [UInt8]) -> RefusedWrite? {
        guard let entry = peers[key]?.entries[address],
            let id = try? DocumentID.id(of: address.id)
        else { return nil }
        return RefusedWrite(
            collection: address.collection, documentID: id, peer: PeerKey(unchecked: key),
            reason: entry.reason, commitIDs: entry.commits.map { Int64(clamping: $0) },
            milliseconds: Int64(clamping: entry.milliseconds))
    }
}

extension RefusalTable.Entry {
    /// Adds commits; beyond the maximum, keeps the first and the newest ones.
    fileprivate mutating func merge(_ others: [CommitID]) {
        let all = Set(commits).union(others).sorted()
        commits =
            all.count <= RefusedWrite.maximumCommits
            ? all : [all[0]] + all.suffix(RefusedWrite.maximumCommits - 1)
    }
}
