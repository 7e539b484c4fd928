import SheafDocument
import Synchronization

/// A fetch of an attachment from other peers, until it completes, fails or is canceled.
///
///     for await event in try peer.fetchAttachment(token) {
///         switch event {
///         case .progress(let downloaded, let total): show(downloaded, of: total)
///         case .completed(let attachment): try await attachment.copy(to: path)
///         case .failed(let error): show(error)
///         }
///     }
///
/// The fetch waits until a connected peer has the attachment or can fetch it. Received chunks are
/// kept, even after the peer is closed, and are not requested again.
public final class AttachmentFetch: AsyncSequence, Sendable {
    /// An event of a fetch; the last one is `completed` or `failed`.
    public enum Event: Sendable {
        /// Number of bytes received; a slow consumer misses some of these events.
        case progress(downloaded: Int, total: Int)
        /// The attachment is complete and its hash is correct.
        case completed(StoredAttachment)
        /// The attachment cannot be stored or does not match the token, or the peer was closed.
        case failed(StoreError)
    }

    /// An iterator that waits for each event.
    public typealias AsyncIterator = AsyncStream<Event>.AsyncIterator

    /// The token of the attachment.
    public let token: AttachmentToken
    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let onEvent: (@Sendable (Event) -> Void)?
    private weak let registry: FetchRegistry?

    /// Maximum number of buffered events; older ones are dropped.
    package static let maximumWaiting = 64

    init(
        _ token: AttachmentToken, _ registry: FetchRegistry,
        _ onEvent: (@Sendable (Event) -> Void)?
    ) {
        self.token = token
        self.registry = registry
        self.onEvent = onEvent
        (events, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Self.maximumWaiting))
    }

    deinit { continuation.finish() }

    /// Returns an iterator over the events; each event goes to one iterator.
    public func makeAsyncIterator() -> AsyncIterator { events.makeAsyncIterator() }

    /// Cancels the fetch.
    ///
    /// An event may still be delivered after this call. Further calls have no effect.
    public func cancel() {
        registry?.remove(self)
        continuation.finish()
    }

    func record(_ event: Event) {
        continuation.yield(event)
        onEvent?(event)
        switch event {
        case .progress: break
        case .completed, .failed: continuation.finish()
        }
    }
}

extension Peer {
    /// Fetches the attachment of a token from peers that have it or can fetch it.
    ///
    /// The fetch completes immediately if the attachment is stored locally. Otherwise it runs until
    /// the attachment is complete, the fetch is canceled or the peer is closed.
    @discardableResult
    public func fetchAttachment(_ token: AttachmentToken) throws -> AttachmentFetch {
        try fetches.add(token, nil)
    }

    /// Fetches an attachment and passes its events to `onEvent`.
    ///
    /// `onEvent` is called by one thread at a time and must not block.
    @discardableResult
    public func fetchAttachment(
        _ token: AttachmentToken, onEvent: @escaping @Sendable (AttachmentFetch.Event) -> Void
    ) throws -> AttachmentFetch {
        try fetches.add(token, onEvent)
    }

    /// The running fetches, in the order in which they were started.
    public var attachmentFetches: [AttachmentFetch] { fetches.all }
}
