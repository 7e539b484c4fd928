public import Dispatch
import Sheaf
import Synchronization

/// An observation of the documents that match a query; it lasts as long as it is retained.
public final class DittoLiveQuery: Sendable {
    private let delivery: Delivery?

    init(_ delivery: Delivery?) {
        self.delivery = delivery
    }

    /// Starts calling `body` with the matching documents and the changes.
    init(
        _ query: PendingQuery, _ store: DittoStore, on queue: DispatchQueue,
        _ body:
            @escaping (
                _ found: [DittoDocument], _ event: DittoLiveQueryEvent,
                _ signalNext: @escaping DittoSignalNext
            ) -> Void
    ) {
        let history = LiveQueryHistory()
        let errorHandler = store.errorHandler
        delivery = errorHandler.returning(nil) {
            try Delivery(of: query.statement("SELECT *"), from: store, on: queue) { result, next in
                do {
                    let (documents, event) = try history.event(of: result)
                    body(documents, event, next)
                } catch {
                    errorHandler.report(error)
                    next()
                }
            }
        }
    }

    deinit {
        stop()
    }

    /// Whether no further events are delivered.
    public var isStopped: Bool { delivery?.isCancelled ?? true }

    /// Stops the delivery: no call starts after this returns.
    public func stop() {
        delivery?.cancel()
    }
}

/// An event of a live query.
public enum DittoLiveQueryEvent: Sendable {
    /// The first list of documents.
    case initial
    /// A changed list of documents.
    case update(DittoLiveQueryUpdate)
}

/// The differences between the old and the new list of documents.
public struct DittoLiveQueryUpdate: Sendable {
    /// The previous list of documents.
    public let oldDocuments: [DittoDocument]
    /// The indexes of inserted documents in the new list.
    public let insertions: [Int]
    /// The indexes of deleted documents in the old list.
    public let deletions: [Int]
    /// The indexes in the new list of documents whose value has changed.
    public let updates: [Int]
    /// The moved documents.
    public let moves: [DittoLiveQueryMove]
}

/// A document that moved within the list.
public struct DittoLiveQueryMove: Hashable, Sendable {
    /// The index in the old list.
    public let from: Int
    /// The index in the new list.
    public let to: Int
}

/// An event of a live query for a single document.
public struct DittoSingleDocumentLiveQueryEvent: Sendable {
    /// Whether this is the first event.
    public let isInitial: Bool
    /// The previous version of the document; nil in the first event, or if it did not exist.
    public let oldDocument: DittoDocument?
}

/// The last result of a live query.
private final class LiveQueryHistory: Sendable {
    private let differ = Differ()
    private let documents = Mutex<[DittoDocument]?>(nil)

    /// Returns the documents of a result, and the differences from the previous result.
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
    /// Calls `eventHandler` on a queue with the documents, immediately and after each change.
    ///
    /// The documents are in the order of the query. If the query cannot be observed, there are no
    /// events, and the error is passed to `onUnthrownError` of the store.
    public func observeLocal(
        deliverOn queue: DispatchQueue = .main,
        eventHandler: @escaping (_ documents: [DittoDocument], _ event: DittoLiveQueryEvent) -> Void
    ) -> DittoLiveQuery {
        DittoLiveQuery(query, store, on: queue) { documents, event, next in
            eventHandler(documents, event)
            next()
        }
    }

    /// Calls `eventHandler` with the matching documents; later calls wait for `signalNext`.
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
    /// Calls `eventHandler` on a queue with the document, immediately and after each change.
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
