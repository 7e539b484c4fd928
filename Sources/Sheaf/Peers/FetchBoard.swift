import Synchronization

/// Who waits for which file.
final class FetchBoard: Sendable {
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

    /// Names who fetches.
    func connect(_ post: @escaping @Sendable (PeerLoop.Event) -> Void) {
        state.withLock { $0.post = post }
    }

    var all: [AttachmentFetch] { state.withLock(\.fetches) }

    func add(
        _ token: AttachmentToken, _ onEvent: (@Sendable (AttachmentFetch.Event) -> Void)?
    ) throws(StoreError) -> AttachmentFetch {
        let fetch = AttachmentFetch(token, self, onEvent)
        // Under the lock, so that the loop hears of wishes in their order. It is told of each: what it
        // knows is said again.
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

    /// Tells those who wait for a file what became of it.
    func note(_ id: AttachmentID, _ news: SyncHost.FetchNews) {
        let concerned = state.withLock { state in
            let concerned = state.fetches.filter { $0.token.id == id }
            if case .progress = news { return concerned }
            state.fetches.removeAll { $0.token.id == id }
            return concerned
        }
        for fetch in concerned { fetch.note(event(news, fetch.token)) }
    }

    private func event(
        _ news: SyncHost.FetchNews, _ token: AttachmentToken
    ) -> AttachmentFetch.Event {
        switch news {
        case .progress(let received, let length):
            return .progress(downloaded: received, total: length)
        case .failed(let error): return .failed(StoreError(attachments: error))
        case .whole(let length):
            guard length == token.length else {
                return .failed(
                    StoreError(
                        .argument,
                        "the token says that the attachment \(token.id) has \(token.length) bytes, "
                            + "and it has \(length)"))
            }
            return .completed(Attachment(token, in: attachments))
        }
    }

    /// Ends all fetches; what has come by then stays.
    func close() {
        let ended = state.withLock { state in
            state.isClosed = true
            defer { state.fetches = [] }
            return state.fetches
        }
        for fetch in ended { fetch.note(.failed(.closed)) }
    }
}
