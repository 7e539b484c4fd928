public import Dispatch
import Sheaf
import Synchronization

/// Goes on telling which documents are found, as long as somebody holds it.
public final class DittoLiveQuery: Sendable {
    private let delivery: Delivery?

    init(_ delivery: Delivery?) {
        self.delivery = delivery
    }

    /// Begins to tell `body` which documents are found, and what has become of them.
    init(
        _ query: PendingQuery, _ store: DittoStore, on queue: DispatchQueue,
        _ body:
            @escaping (
                _ found: [DittoDocument], _ event: DittoLiveQueryEvent,
                _ signalNext: @escaping DittoSignalNext
            ) -> Void
    ) {
        let history = LiveQueryHistory()
        let complaints = store.complaints
        delivery = complaints.returning(nil) {
            try Delivery(of: query.statement("SELECT *"), from: store, on: queue) { result, next in
                do {
                    let (documents, event) = try history.event(of: result)
                    body(documents, event, next)
                } catch {
                    complaints.complain(error)
                    next()
                }
            }
        }
    }

    deinit {
        stop()
    }

    /// Whether nothing more will be delivered.
    public var isStopped: Bool { delivery?.isCancelled ?? true }

    /// Stops the delivery: no call begins after this has returned.
    public func stop() {
        delivery?.cancel()
    }
}

/// What has become of the documents that a query finds.
public enum DittoLiveQueryEvent: Sendable {
    /// These are the first ones.
    case initial
    /// There were others before.
    case update(DittoLiveQueryUpdate)
}

/// What turns the documents that were found before into those that are found now.
public struct DittoLiveQueryUpdate: Sendable {
    /// The documents that were found before.
    public let oldDocuments: [DittoDocument]
    /// The indexes of documents that were not found before.
    public let insertions: [Int]
    /// The indexes among the old documents of those that are no longer found.
    public let deletions: [Int]
    /// The indexes of documents that have other values than before.
    public let updates: [Int]
    /// The documents that changed places.
    public let moves: [DittoLiveQueryMove]
}

/// A document that changed its place among those that are found.
public struct DittoLiveQueryMove: Hashable, Sendable {
    /// Its index among the old documents.
    public let from: Int
    /// Its index now.
    public let to: Int
}

/// What has become of one document.
public struct DittoSingleDocumentLiveQueryEvent: Sendable {
    /// Whether this is what it was at the beginning.
    public let isInitial: Bool
    /// What it was before; nil where it was not there.
    public let oldDocument: DittoDocument?
}

/// What a live query has found last.
private final class LiveQueryHistory: Sendable {
    private let differ = Differ()
    private let documents = Mutex<[DittoDocument]?>(nil)

    /// The documents of a result, and what has become of those before.
    func event(of result: QueryResult) throws -> ([DittoDocument], DittoLiveQueryEvent) {
        let found = try result.items.map { DittoDocument(try $0.value) }
        let diff = differ.diff(result.items)
        let before = documents.withLock { documents in
            defer { documents = found }
            return documents
        }
        guard let before else { return (found, .initial) }
        let update = DittoLiveQueryUpdate(
            oldDocuments: before, insertions: diff.insertions, deletions: diff.deletions,
            updates: diff.updates,
            moves: diff.moves.map { DittoLiveQueryMove(from: $0.from, to: $0.to) })
        return (found, .update(update))
    }
}

extension DittoPendingCursorOperation {
    /// Tells `eventHandler` which documents are found, at once and after each change of them, on a queue.
    ///
    /// The documents are in the order that was asked for. A query that cannot be observed tells nothing,
    /// and `onUnthrownError` of the store hears why.
    public func observeLocal(
        deliverOn queue: DispatchQueue = .main,
        eventHandler: @escaping (_ documents: [DittoDocument], _ event: DittoLiveQueryEvent) -> Void
    ) -> DittoLiveQuery {
        DittoLiveQuery(query, store, on: queue) { documents, event, next in
            eventHandler(documents, event)
            next()
        }
    }

    /// Tells `eventHandler` which documents are found, the next time not before it has signaled for it.
    public func observeLocalWithNextSignal(
        deliverOn queue: DispatchQueue = .main,
        eventHandler:
            @escaping (
                _ documents: [DittoDocument], _ event: DittoLiveQueryEvent,
                _ signalNext: @escaping DittoSignalNext
            ) -> Void
    ) -> DittoLiveQuery {
        DittoLiveQuery(query, store, on: queue, eventHandler)
    }
}

extension DittoPendingIDSpecificOperation {
    /// Tells `eventHandler` what the document is, at once and after each change of it, on a queue.
    public func observeLocal(
        deliverOn queue: DispatchQueue = .main,
        eventHandler:
            @escaping (
                _ document: DittoDocument?, _ event: DittoSingleDocumentLiveQueryEvent
            ) -> Void
    ) -> DittoLiveQuery {
        DittoLiveQuery(query, store, on: queue) { documents, event, next in
            switch event {
            case .initial:
                eventHandler(
                    documents.first,
                    DittoSingleDocumentLiveQueryEvent(isInitial: true, oldDocument: nil))
            case .update(let update):
                eventHandler(
                    documents.first,
                    DittoSingleDocumentLiveQueryEvent(
                        isInitial: false, oldDocument: update.oldDocuments.first))
            }
            next()
        }
    }
}
