package import Sheaf
package import SheafAttachments
package import SheafEngine
package import SheafReplication
package import SheafStatements
package import SheafStorage
import SheafStore
import SheafSystem

extension Peer: HubPeer {
    package var queries: QueryEngine { store.queries }
    package var attachments: AttachmentStore { store.attachments }

    package func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (Replicator) -> Answer
    ) throws(SnapshotFailure) -> Answer {
        guard let answer = self.answer(question) else { throw .stopped }
        return answer
    }

    package func share(_ configuration: HubFeedConfiguration) throws(SnapshotFailure) {
        let result: Result<Void, EngineError> = try ask { replicator in
            do throws(EngineError) {
                try replicator.share(configuration, at: Clock.system.monotonicNanoseconds())
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        do throws(EngineError) { try result.get() } catch { throw .store(error) }
    }

    package func write(
        _ body: (
            _ append: (WriteBatch) throws(StorageError) -> CommitID
        ) throws(EngineError) -> Void
    ) throws(EngineError) {
        try store.writeBlocking(body)
    }
}
