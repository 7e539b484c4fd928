import SheafAttachments
import SheafDocument
import SheafReplication
import Synchronization

/// The running attachment fetches of a peer.
final class FetchRegistry: Sendable {
    private struct State: Sendable {
        var fetches: [AttachmentFetch] = []
        var post: (@Sendable (PeerLoop.Event) -> Void)?
        var isClosed = false
    }

    private let attachments: AttachmentStore
    private let state = Mutex(State())

    init(_ attachments: AttachmentStore) {
        self.attachments = attachments
    }

    /// Sets the function that posts events to the replication thread.
    func connect(_ post: @escaping @Sendable (PeerLoop.Event) -> Void) {
        state.withLock { $0.post = post }
    }

    var all: [AttachmentFetch] { state.withLock(\.fetches) }

    func add(
        _ token: AttachmentToken, _ onEvent: (@Sendable (AttachmentFetch.Event) -> Void)?
    ) throws(StoreError) -> AttachmentFetch {
        let fetch = AttachmentFetch(token, self, onEvent)
        // The event is posted under the lock to keep the order. Every fetch posts one, also for an
        // attachment that is already being fetched, so that the fetch receives the current
        // progress.
        let isOpen = state.withLock { state in
            guard !state.isClosed else { return false }
            state.fetches.append(fetch)
            state.post?(.fetch(token.id))
            return true
        }
        guard isOpen else { throw .closed }
        return fetch
    }

    func remove(_ fetch: AttachmentFetch) {
        state.withLock { state in
            let count = state.fetches.count
            state.fetches.removeAll { $0 === fetch }
            guard state.fetches.count < count,
                !state.fetches.contains(where: { $0.token.id == fetch.token.id })
            else { return }
            state.post?(.cancelFetch(fetch.token.id))
        }
    }

    /// Passes an update of an attachment to all its fetches; ends them unless it reports progress.
    func record(_ id: AttachmentID, _ update: FetchUpdate) {
        let affected = state.withLock { state in
            let affected = state.fetches.filter { $0.token.id == id }
            if case .progress = update { return affected }
            state.fetches.removeAll { $0.token.id == id }
            return affected
        }
        for fetch in affected { fetch.record(event(update, fetch.token)) }
    }

    private func event(
        _ update: FetchUpdate, _ token: AttachmentToken
    ) -> AttachmentFetch.Event {
        switch update {
        case .progress(let received, let length):
            return .progress(downloaded: received, total: length)
        case .failed(let error): return .failed(StoreError(error))
        case .complete(let length):
            guard length == token.length else {
                return .failed(
                    StoreError(
                        .argument,
                        "wrong length in the token of attachment \(token.id): "
                            + "\(token.length) bytes instead of \(length)"))
            }
            return .completed(StoredAttachment(token, in: attachments))
        }
    }

    /// Ends all fetches; received chunks are kept.
    func close() {
        let ended = state.withLock { state in
            state.isClosed = true
            defer { state.fetches = [] }
            return state.fetches
        }
        for fetch in ended { fetch.record(.failed(.closed)) }
    }
}
