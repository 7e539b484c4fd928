import SheafAttachments
import SheafDocument
import SheafHubLog
import SheafReplication
import SheafSystem

/// Files that clients fetch, read from the object store.
///
/// The store of the hub receives their chunks as from a peer, and serves them as its own.
extension HubFiles {
    /// Maximum time after which a file that a client fetches is looked for again.
    private static let longestFetchMilliseconds: UInt64 = 30_000

    /// Returns the times at which a file that a client fetches is looked for.
    package static func fetchPace(_ settings: HubSettings, startingAt time: UInt64) -> RetryTimes {
        RetryTimes(
            from: settings.fileStepMilliseconds, to: longestFetchMilliseconds, startingAt: time)
    }

    mutating func loadFiles(
        _ fetched: [AttachmentID], at now: UInt64
    ) throws(SnapshotFailure) -> [Event] {
        let ids = Set(fetched)
        fetches = fetches.filter { ids.contains($0.key) }
        var events: [Event] = []
        for id in fetched {
            guard !stop.isSet else { throw .stopped }
            var pace = fetches[id] ?? Self.fetchPace(settings, startingAt: now)
            fetches[id] = pace
            guard pace.isDue(at: now) else { continue }
            do throws(SnapshotFailure) {
                switch try load(id) {
                case .complete: events.append(.loaded(id))
                case .incomplete: isBusy = true
                case .missing: pace.postpone(at: now)
                }
            } catch {
                events += try record(error, of: id)
                pace.postpone(at: now)
            }
            fetches[id] = pace
        }
        if !events.isEmpty { try peer.ask { $0.completeStoredFiles() } }
        return events
    }

    private enum Progress { case complete, incomplete, missing }

    /// Reads the first part of a file that is not stored here.
    private func load(_ id: AttachmentID) throws(SnapshotFailure) -> Progress {
        guard let file = try FileObject.load(id, from: objects, settings) else { return .missing }
        let (list, attachments) = (file.list, peer.attachments)
        let state = try onFiles { () throws(AttachmentError) in
            try attachments.beginFetch(id, length: list.length, hashes: list.hashes)
        }
        guard case .incoming(let incoming) = state else { return .complete }
        guard let missing = incoming.missingChunks(limit: 1).first?.lowerBound else {
            let isComplete = try onFiles { () throws(AttachmentError) in try incoming.flush() }
            return isComplete ? .complete : .incomplete
        }
        let chunks = try file.chunks(of: missing / file.chunksPerPart, from: objects)
        var isComplete = false
        for (number, bytes) in chunks where !incoming.contains(number) {
            let outcome = try onFiles { () throws(AttachmentError) in
                try bytes.span.withUnsafeBytes { (bytes) throws(AttachmentError) in
                    try incoming.put(bytes, at: number)
                }
            }
            isComplete = outcome == .complete
        }
        pace.wait(chunks.reduce(0) { $0 + $1.bytes.count })
        return isComplete ? .complete : .incomplete
    }
}
