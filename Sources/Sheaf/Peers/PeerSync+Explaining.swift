package import SheafDocument
import SheafEngine
package import SheafReplication
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTransport

/// Diagnostics for tools; the calls block until the replication thread responds.
extension PeerSync {
    /// Returns the progress of all peers connected since the store was opened.
    package func surveys() throws -> [PeerSurvey] {
        try request { $0.surveys() }
    }

    /// Explains whether and why a document reached a peer; returns nil for an unknown peer.
    package func explanation(
        of collection: String, _ id: Value, for peer: PeerKey
    ) throws -> SyncExplanation? {
        try result { (replicator) throws(EngineError) in
            try replicator.explanation(of: collection, id, for: peer)
        }
    }

    /// Returns the status of a document in the local store.
    package func documentStatus(of collection: String, _ id: Value) throws -> DocumentStatus {
        try result { (replicator) throws(EngineError) in
            try replicator.documentStatus(of: collection, id)
        }
    }

    /// Returns the subscriptions of this peer that select documents of a collection.
    package func subscriptions(of collection: String) throws -> [String] {
        try request { $0.subscriptions(of: collection) }
    }

    private func result<Answer: Sendable>(
        _ question: @escaping @Sendable (Replicator) throws(EngineError) -> Answer
    ) throws -> Answer {
        let result = try request { replicator in
            do throws(EngineError) {
                return Result<Answer, EngineError>.success(try question(replicator))
            } catch {
                return .failure(error)
            }
        }
        do throws(EngineError) { return try result.get() } catch { throw StoreError(error) }
    }

    /// The newest durable commit.
    package var newestCommit: UInt64 { store.queries.snapshot().log.commit }

    /// Runs a request on the replication thread and blocks until it returns.
    func request<Answer: Sendable>(
        _ question: @escaping @Sendable (Replicator) -> Answer
    ) throws -> Answer {
        let answer = Monitor<Answer??>(nil)
        loop.post(
            .request { replicator in
                let found = replicator.map(question)
                answer.withLock { $0 = .some(found) }
                answer.broadcast()
            })
        let known: Answer? = answer.wait(while: { $0 == nil }, then: { $0 ?? nil })
        guard let known else { throw StoreError.closed }
        return known
    }
}
