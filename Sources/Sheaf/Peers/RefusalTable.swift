import SheafDocument
import SheafStorage
import SheafSync

/// Local documents that other peers refuse for want of rights, by the keys of the peers.
///
/// An entry goes when the peer acknowledges a later state of the document without refusing it, and when the document
/// is taken away here. It is kept in memory alone: after a restart the two sides compare, the document is sent
/// again, and refused again.
struct RefusalTable {
    /// One document.
    struct Entry {
        /// The commits here that the peer lacks of it, ascending.
        fileprivate(set) var commits: [CommitID] = []
        fileprivate(set) var reason: RefusedWrite.Reason
        fileprivate var milliseconds: UInt64
        /// The commit whose acknowledgement shows that the peer has taken the document; nil until
        /// the document is sent again.
        fileprivate var takenWith: CommitID?
    }

    /// The documents of one peer.
    private struct Documents {
        var entries: [DocumentAddress: Entry] = [:]
        var omitted: UInt64 = 0
        var omittedThrough: CommitID = 0
        var omittedTakenWith: CommitID?

        var isEmpty: Bool { entries.isEmpty && omitted == 0 }
    }

    /// Maximum number of documents of one peer, of all peers together, and of the bytes of their addresses.
    static let mostOfPeer = 1_024
    private static let most = 8_192
    private static let mostBytes = 4 << 20

    private var peers: [[UInt8]: Documents] = [:]
    private var count = 0
    private var byteCount = 0
    /// The peers of which something has changed, and what is new of them.
    private var changed: [[UInt8]: Set<DocumentAddress>] = [:]

    var isEmpty: Bool { peers.isEmpty }

    /// Whether a peer refuses a document as it was written here.
    func has(_ address: DocumentAddress, of key: [UInt8]) -> Bool {
        peers[key]?.entries[address] != nil
    }

    /// Whether a peer refuses any documents.
    func has(_ key: [UInt8]) -> Bool { peers[key] != nil }

    /// Returns the documents that a peer refuses.
    func addresses(of key: [UInt8]) -> Set<DocumentAddress> {
        peers[key].map { Set($0.entries.keys) } ?? []
    }

    // MARK: Refused documents

    /// Records a document that a peer refuses, with the commits here that the peer lacks of it.
    mutating func add(
        _ address: DocumentAddress, _ commits: [CommitID], _ reason: RefusedWrite.Reason,
        of key: [UInt8], milliseconds: UInt64
    ) {
        var documents = peers[key] ?? Documents()
        if var entry = documents.entries[address] {
            let isKnown = commits.allSatisfy(entry.commits.contains)
            // A peer also refuses what it asks for, and the own grant does not let this side send.
            let isOld = isKnown && (entry.reason == reason || entry.reason == .ownGrant)
            entry.takenWith = nil
            if !isOld { entry.reason = reason }
            entry.merge(commits)
            if !isOld {
                entry.milliseconds = milliseconds
                changed[key, default: []].insert(address)
            }
            documents.entries[address] = entry
        } else if documents.entries.count < Self.mostOfPeer, count < Self.most,
            byteCount + address.memoryLength <= Self.mostBytes
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

    /// Counts documents that a peer refuses, and for which the table has no room.
    mutating func omit(_ count: UInt64, through commit: CommitID, of key: [UInt8]) {
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

    /// Records that a document is sent again, with the step of `commit`.
    mutating func noteSent(_ address: DocumentAddress, with commit: CommitID, to key: [UInt8]) {
        guard peers[key]?.entries[address] != nil else { return }
        peers[key]?.entries[address]?.takenWith = commit
    }

    /// Notes that a peer has compared all that it wants: what it does not take it refuses again before it acknowledges
    /// this commit.
    ///
    /// That says nothing of documents that the own grant forbids, which are not sent.
    mutating func noteCompared(
        with commit: CommitID, by key: [UInt8], except unsendable: Set<DocumentAddress>
    ) {
        guard let documents = peers[key] else { return }
        for address in documents.entries.keys where !unsendable.contains(address) {
            peers[key]?.entries[address]?.takenWith = commit
        }
        peers[key]?.omittedTakenWith = commit
    }

    /// Notes that acknowledgements belong to another subscription from now on.
    mutating func beginAnew(_ key: [UInt8]) {
        guard let documents = peers[key] else { return }
        for (address, entry) in documents.entries where entry.takenWith != nil {
            peers[key]?.entries[address]?.takenWith = nil
        }
        peers[key]?.omittedTakenWith = nil
    }

    /// Removes the documents that a peer has taken since.
    mutating func noteAcknowledged(_ commit: CommitID, by key: [UInt8]) {
        guard let documents = peers[key] else { return }
        for (address, entry) in documents.entries {
            if let takenWith = entry.takenWith, takenWith <= commit { remove(address, of: key) }
        }
        if let takenWith = documents.omittedTakenWith, takenWith <= commit {
            removeOmitted(of: key)
        }
    }

    /// Removes the entry of a document for one peer.
    mutating func remove(_ address: DocumentAddress, of key: [UInt8]) {
        guard var documents = peers[key], documents.entries.removeValue(forKey: address) != nil
        else { return }
        count -= 1
        byteCount -= address.memoryLength
        peers[key] = documents.isEmpty ? nil : documents
        changed[key, default: []].remove(address)
    }

    /// Removes the entries of a document for all peers, since it was removed here.
    mutating func remove(_ address: DocumentAddress) {
        for key in Array(peers.keys) { remove(address, of: key) }
    }

    private mutating func removeOmitted(of key: [UInt8]) {
        guard var documents = peers[key] else { return }
        (documents.omitted, documents.omittedThrough) = (0, 0)
        documents.omittedTakenWith = nil
        peers[key] = documents.isEmpty ? nil : documents
        changed[key, default: []].formUnion([])
    }

    /// Forgets peers that are not remembered any more.
    mutating func forget(but known: Set<[UInt8]>) {
        for key in Array(peers.keys) where !known.contains(key) {
            for address in addresses(of: key) { remove(address, of: key) }
            removeOmitted(of: key)
        }
    }

    // MARK: Reports

    /// Returns the peers whose refusals have changed since the last call, with the new refusals.
    mutating func takeChanges() -> [(key: [UInt8], all: PeerRefusals, new: [RefusedWrite])] {
        guard !changed.isEmpty else { return [] }
        defer { changed = [:] }
        return changed.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, addresses in
            let new = addresses.sorted(by: <).compactMap { write($0, of: key) }
            return (key, refusals(of: key), new)
        }
    }

    /// Returns all refusals of a peer, in the order of the addresses.
    func refusals(of key: [UInt8]) -> PeerRefusals {
        guard let documents = peers[key] else { return PeerRefusals() }
        return PeerRefusals(
            writes: documents.entries.keys.sorted(by: <).compactMap { write($0, of: key) },
            omitted: documents.omitted, omittedThrough: documents.omittedThrough)
    }

    /// Returns the refusal of one document; nil where there is none.
    func write(_ address: DocumentAddress, of key: [UInt8]) -> RefusedWrite? {
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
    /// Adds commits; of more than there is room for, the first and the newest stay.
    fileprivate mutating func merge(_ others: [CommitID]) {
        let all = Set(commits).union(others).sorted()
        commits =
            all.count <= RefusedWrite.mostCommits
            ? all : [all[0]] + all.suffix(RefusedWrite.mostCommits - 1)
    }
}
