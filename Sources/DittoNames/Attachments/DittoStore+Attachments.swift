public import Dispatch
public import Foundation
import Sheaf
import Synchronization

/// An event of fetching an attachment.
public enum DittoAttachmentFetchEvent: Sendable {
    /// The attachment is complete.
    case completed(DittoAttachment)
    /// Progress of the transfer.
    case progress(downloadedBytes: UInt64, totalBytes: UInt64)
    /// The attachment cannot be fetched; the reason is passed to `onUnthrownError` of the store.
    case deleted
}

/// The fetch of an attachment, until it is complete or stopped.
public final class DittoAttachmentFetcher: Sendable {
    private struct State: Sendable {
        var fetch: AttachmentFetch?
        var isStopped = false
    }

    private let state = Mutex(State())
    private let onStop: @Sendable (DittoAttachmentFetcher) -> Void

    init(onStop: @escaping @Sendable (DittoAttachmentFetcher) -> Void) {
        self.onStop = onStop
    }

    var isStopped: Bool { state.withLock(\.isStopped) }

    func hold(_ fetch: AttachmentFetch) {
        let isStopped = state.withLock { state in
            state.fetch = fetch
            return state.isStopped
        }
        if isStopped { fetch.cancel() }
    }

    /// Stops the fetch; no call starts after this returns.
    public func stop() {
        let fetch = state.withLock { state in
            state.isStopped = true
            return state.fetch
        }
        fetch?.cancel()
        onStop(self)
    }
}

extension DittoAttachmentFetcher: Hashable {
    /// Whether both are the same fetch.
    public static func == (left: DittoAttachmentFetcher, right: DittoAttachmentFetcher) -> Bool {
        left === right
    }

    /// Hashes the identity of the fetch.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension DittoStore {
    /// Creates an attachment from a file, for use as the value of an ATTACHMENT field.
    ///
    ///     let photo = try await ditto.store.newAttachment(path: path, metadata: ["name": "a.png"])
    ///     try await ditto.store.execute(
    ///         query: "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)",
    ///         arguments: ["car": ["_id": "123", "photo": photo]])
    public nonisolated(nonsending) func newAttachment(
        path: String, metadata: [String: String] = [:]
    ) async throws -> DittoAttachment {
        DittoAttachment(
            try await inDittoWords { try await sheaf.newAttachment(path: path, metadata: metadata) }
        )
    }

    /// Creates an attachment from bytes.
    public nonisolated(nonsending) func newAttachment(
        data: Data, metadata: [String: String] = [:]
    ) async throws -> DittoAttachment {
        DittoAttachment(
            try await inDittoWords {
                try await sheaf.newAttachment(data: [UInt8](data), metadata: metadata)
            })
    }

    /// Fetches the attachment of a token found in an ATTACHMENT field.
    ///
    /// `onFetchEvent` is called on `queue`. The fetch continues until it is complete or stopped, or
    /// the database is closed; the fetcher need not be retained.
    @discardableResult
    public func fetchAttachment(
        token: [String: Any?], deliverOn queue: DispatchQueue = .main,
        onFetchEvent: @escaping (_ event: DittoAttachmentFetchEvent) -> Void
    ) throws -> DittoAttachmentFetcher {
        try fetchAttachment(
            token: try DittoAttachmentToken(token), deliverOn: queue, onFetchEvent: onFetchEvent)
    }

    /// Fetches the attachment of a token.
    @discardableResult
    public func fetchAttachment(
        token: DittoAttachmentToken, deliverOn queue: DispatchQueue = .main,
        onFetchEvent: @escaping (_ event: DittoAttachmentFetchEvent) -> Void
    ) throws -> DittoAttachmentFetcher {
        guard let peer else { throw DittoError.withoutPeers("fetching an attachment") }
        // Handlers of the reference system are not `Sendable`. This one is called by one thread at
        // a time, on the queue chosen by the caller.
        nonisolated(unsafe) let handler = onFetchEvent
        let fetcher = DittoAttachmentFetcher { [weak self] fetcher in
            self?.fetching.withLock { _ = $0.remove(fetcher) }
        }
        fetching.withLock { _ = $0.insert(fetcher) }
        let deliver: @Sendable (AttachmentFetch.Event) -> Void = {
            [weak self, weak fetcher] event in
            guard let fetcher else { return }
            let fetchEvent = self?.event(event)
            let isLast = if case .progress = event { false } else { true }
            queue.async {
                guard !fetcher.isStopped else { return }
                if let fetchEvent { handler(fetchEvent) }
                if isLast { fetcher.stop() }
            }
        }
        do {
            fetcher.hold(try peer.fetchAttachment(token.token, onEvent: deliver))
        } catch {
            fetcher.stop()
            throw DittoError.translated(error)
        }
        return fetcher
    }

    /// All fetches in progress.
    public var attachmentFetchers: Set<DittoAttachmentFetcher> { fetching.withLock { $0 } }

    private func event(_ event: AttachmentFetch.Event) -> DittoAttachmentFetchEvent? {
        switch event {
        case .progress(let downloaded, let total):
            return .progress(downloadedBytes: UInt64(downloaded), totalBytes: UInt64(total))
        case .completed(let attachment): return .completed(DittoAttachment(attachment))
        case .failed(let error) where error.reason == .closed: return nil
        case .failed(let error):
            errorHandler.report(error)
            return .deleted
        }
    }
}
