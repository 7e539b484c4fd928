import Synchronization

/// A file on its way here, for as long as it is neither here nor cancelled.
///
///     for await event in try peer.fetchAttachment(token) {
///         switch event {
///         case .progress(let downloaded, let total): show(downloaded, of: total)
///         case .completed(let attachment): try await attachment.copy(to: path)
///         case .failed(let error): show(error)
///         }
///     }
///
/// It waits while nobody is connected who has the file, or can get it, and goes on when somebody is. What
/// has come stays, also when the peer is closed, and is not asked for again.
public final class AttachmentFetch: AsyncSequence, Sendable {
    /// What becomes of it; the last one is `completed` or `failed`.
    public enum Event: Sendable {
        /// So many bytes are here. Where nobody looks for a while, some of these are left out.
        case progress(downloaded: Int, total: Int)
        /// All of it is here, and has its right hash.
        case completed(Attachment)
        /// It cannot be kept here, or is not what the token says.
        case failed(StoreError)
    }

    public typealias AsyncIterator = AsyncStream<Event>.AsyncIterator

    /// What was asked for.
    public let token: AttachmentToken
    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let onEvent: (@Sendable (Event) -> Void)?
    private weak let board: FetchBoard?

    /// How many events wait for somebody who looks at them; older ones go.
    private static let mostWaiting = 64

    init(
        _ token: AttachmentToken, _ board: FetchBoard,
        _ onEvent: (@Sendable (Event) -> Void)?
    ) {
        self.token = token
        self.board = board
        self.onEvent = onEvent
        (events, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Self.mostWaiting))
    }

    deinit { continuation.finish() }

    /// The events, of which each goes to one iterator.
    public func makeAsyncIterator() -> AsyncIterator { events.makeAsyncIterator() }

    /// Does not want the file any more.
    ///
    /// An event may be on its way. Further calls do nothing.
    public func cancel() {
        board?.remove(self)
        continuation.finish()
    }

    func note(_ event: Event) {
        continuation.yield(event)
        onEvent?(event)
        switch event {
        case .progress: break
        case .completed, .failed: continuation.finish()
        }
    }
}

extension Peer {
    /// Fetches the file that a token names from those who have it, or can get it.
    ///
    /// It is complete at once where the file is here already. The fetch lasts until then, or until it
    /// is cancelled, or the peer is closed.
    @discardableResult
    public func fetchAttachment(_ token: AttachmentToken) throws -> AttachmentFetch {
        try fetches.add(token, nil)
    }

    /// The same, with events for a function, which is called by one thread at a time and must not wait.
    @discardableResult
    public func fetchAttachment(
        _ token: AttachmentToken, onEvent: @escaping @Sendable (AttachmentFetch.Event) -> Void
    ) throws -> AttachmentFetch {
        try fetches.add(token, onEvent)
    }

    /// All files that are on their way here, in the order in which they were asked for.
    public var attachmentFetches: [AttachmentFetch] { fetches.all }
}
