import SheafAttachments
package import SheafDocument
import SheafEngine
package import SheafHubLog
package import SheafReplication
import SheafStatements
package import SheafStorage
package import SheafSystem

/// The attachments of documents in the object store of the engine.
///
/// Each hub puts those there that it has and that are missing, after it has fetched them from the
/// clients that wrote their tokens, and reads those that clients fetch. An existing object stays,
/// so several hubs may put a file concurrently.
package struct HubFiles {
    package enum Event: Equatable, Sendable {
        /// A file was put into the object store, or was read from there.
        case put(AttachmentID), loaded(AttachmentID)
        /// A file cannot be put or read; it is tried again.
        case failed(AttachmentID, SnapshotFailure)
        case removed(AttachmentID)
    }

    /// A file that documents reference, and that is not known to be in the object store.
    struct UnstoredFile {
        var pace: RetryTimes
        /// The next part to put.
        var part = 0
        /// Objects with wrong bytes, which must be replaced.
        var damaged: Set<String> = []
        /// Whether the objects exist in part, even if the head does.
        var isIncomplete = false
        /// The time at which it was last sought at the connected peers, and the end of that.
        var soughtAt: UInt64 = 0
        var soughtUntil: UInt64 = 0
        /// Number of bytes received at the last attempt.
        var length = 0
    }

    let peer: any HubPeer
    let objects: any HubObjects
    let settings: HubSettings
    let stop: EvaluationStop
    let pace: RateLimit
    var unstored: [AttachmentID: UnstoredFile] = [:]
    /// The files that are sought at the connected peers for the object store.
    var sought: Set<AttachmentID> = []
    /// When the files that clients fetch are looked for in the object store.
    var fetches: [AttachmentID: RetryTimes] = [:]
    private var failures: [AttachmentID: SnapshotFailure] = [:]
    /// Documents with tokens whose proofs this hub must append to the log.
    private var unproven: [[UInt8]: Set<AttachmentID>] = [:]
    /// Attachments whose proofs must be requested.
    private var unrequested: Set<AttachmentID> = []
    /// The commit up to which the references of documents are known.
    package internal(set) var scanned: CommitID = 0
    private var provenThrough: CommitID = 0
    private var nextCheck: UInt64 = 0
    /// Objects that no document references, and when they were found first.
    var unreferenced: [AttachmentID: UInt64] = [:]
    /// The entries that were read at the last comparison, by shard.
    var readBefore: [UInt64] = []
    /// Whether the last step has left something that can be done at once.
    package internal(set) var isBusy = false

    package init(
        _ peer: any HubPeer, _ objects: any HubObjects, _ settings: HubSettings = HubSettings(),
        until stop: EvaluationStop = EvaluationStop()
    ) {
        self.peer = peer
        self.objects = objects
        self.settings = settings
        self.stop = stop
        pace = RateLimit(bytesPerSecond: settings.fileBytesPerSecond, until: stop)
    }

    /// Number of files that documents reference, and that the object store may not have.
    package var unstoredCount: Int { unstored.count }
    /// Number of files among them that are in the store of this hub, and have not failed.
    package var localCount: Int { localFiles.count { !isFailed($0) } }
    /// A failure that has not ended; nil if there is none.
    package var failure: SnapshotFailure? { failures.first?.value }

    /// Blocks while it moves at most one part of each file, and returns what was done.
    ///
    /// A failure of the engine is thrown; the next step tries again.
    package mutating func step() throws(SnapshotFailure) -> [Event] {
        isBusy = false
        let (view, fetched) = try peer.ask { ($0.hubView, $0.fetchedFiles) }
        let now = peer.wallMilliseconds
        // Clients wait for these files, also while the engine has no room for others.
        let loaded = try loadFiles(fetched, at: now)
        guard loaded.isEmpty, let view, view.hasCaughtUp else {
            if !loaded.isEmpty { isBusy = true }
            return loaded
        }
        var events: [Event] = []
        if now >= nextCheck {
            nextCheck = now + Self.failedCheckMilliseconds
            events += try checkAll(view, at: now)
            nextCheck = now + settings.cleaningMilliseconds
        }
        try findReferences(at: now)
        // An event is not lost to a failure, which the next step repeats.
        if events.isEmpty { events += try storeFiles(at: now) } else { isBusy = true }
        failures = failures.filter { unstored[$0.key] != nil || fetches[$0.key] != nil }
        return events
    }

    /// The files that are in the store of this hub, and may not be in the object store.
    var localFiles: Set<AttachmentID> { Set(unstored.keys.filter(isHere)) }

    func isFailed(_ id: AttachmentID) -> Bool { failures[id] != nil }

    /// Time after which a check that has failed is repeated.
    package static let failedCheckMilliseconds: UInt64 = 60_000

    /// Records a failure of a file; returns an event unless it is known.
    ///
    /// Throws a failure that concerns all files.
    mutating func record(
        _ failure: SnapshotFailure, of id: AttachmentID
    ) throws(SnapshotFailure) -> [Event] {
        switch failure {
        // The last request for the file has ended meanwhile.
        case .file(.missing): return []
        case .file: break
        case .damaged(let object, _): unstored[id, default: Self.missing].damaged.insert(object)
        case .log(.missing): unstored[id, default: Self.missing].isIncomplete = true
        default: throw failure
        }
        guard failures.updateValue(failure, forKey: id) != failure else { return [] }
        return [.failed(id, failure)]
    }
}

// MARK: - References

extension HubFiles {
    /// Time after which a file that was not found is tried again, first and at most.
    private static let firstMilliseconds: UInt64 = 1_000
    private static let longestMilliseconds: UInt64 = 600_000

    /// A file that is not there, and is tried at once.
    private static var missing: UnstoredFile { UnstoredFile(pace: pace(startingAt: 0)) }

    /// Returns the times at which a file is put, or sought at the peers.
    package static func pace(startingAt time: UInt64) -> RetryTimes {
        RetryTimes(from: firstMilliseconds, to: longestMilliseconds, startingAt: time)
    }

    /// Finds the files that documents of new commits reference.
    private mutating func findReferences(at now: UInt64) throws(SnapshotFailure) {
        let snapshot = peer.queries.documents.snapshot()
        if snapshot.log.commit != scanned {
            for reference in try references(in: snapshot, after: scanned) {
                add(reference, at: now, butStored: [])
            }
            scanned = snapshot.log.commit
        }
        guard provenThrough != scanned else { return }
        if try appendProven(snapshot) { provenThrough = scanned }
    }

    func references(
        in snapshot: DocumentSnapshot, after commit: CommitID?
    ) throws(SnapshotFailure) -> [FileReference] {
        do throws(EngineError) { return try snapshot.fileReferences(after: commit) } catch {
            throw .store(error)
        }
    }

    mutating func add(
        _ reference: FileReference, at now: UInt64, butStored stored: Set<AttachmentID>
    ) {
        if !reference.unproven.isEmpty {
            unproven[reference.key] = reference.unproven
            unrequested.formUnion(reference.unproven)
        }
        // The client that wrote it is usually connected to another hub.
        let start = reference.isReceived ? now + settings.fileSearchMilliseconds : now
        for id in reference.ids where unstored[id] == nil && !stored.contains(id) {
            unstored[id] = UnstoredFile(pace: Self.pace(startingAt: start))
        }
    }

    /// Requests the proofs of tokens, and appends documents again whose tokens were proven.
    ///
    /// Returns false if it must be called again, since the peer has not read the tokens yet.
    private mutating func appendProven(
        _ snapshot: DocumentSnapshot
    ) throws(SnapshotFailure) -> Bool {
        guard !unproven.isEmpty else { return true }
        var again: Set<[UInt8]> = []
        for (key, ids) in unproven {
            let rest = ids.subtracting(snapshot.proven(ids, inDocument: key))
            guard rest.count < ids.count else { continue }
            unproven[key] = rest.isEmpty ? nil : rest
            again.insert(key)
        }
        let (keys, ids) = (again, unrequested)
        let commit = snapshot.log.commit
        let areRequested = try peer.ask { replicator in
            if !keys.isEmpty { replicator.appendAgain(keys) }
            return replicator.requestProofs(of: ids, through: commit)
        }
        if areRequested { unrequested = [] }
        return areRequested
    }
}
