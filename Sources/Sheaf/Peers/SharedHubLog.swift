import SheafEngine
package import SheafHubLog
package import SheafReplication
import SheafStatements
import SheafSystem

/// The hub log that a peer shares with other hubs.
package struct SharedHubLog: Sendable {
    package let log: any HubLog
    /// The log to share at once; nil if the peer acknowledges nothing before `Replicator.share`.
    package let configuration: HubFeedConfiguration?

    package init(_ log: any HubLog, _ configuration: HubFeedConfiguration?) {
        self.log = log
        self.configuration = configuration
    }

    /// Begins to share the documents of the store with the hubs of the log.
    func begin(_ replicator: Replicator, _ storeLog: StoreLog?) {
        guard let configuration else { return replicator.stopSharing() }
        do throws(EngineError) {
            try replicator.share(configuration, at: Clock.system.monotonicNanoseconds())
        } catch {
            storeLog?.write(
                .error, "this hub acknowledges no documents: its progress cannot be read: \(error)")
        }
    }
}

/// The host of a hub log, which posts events to the replication thread.
final class HubLogEvents: HubLogHost {
    private let storeLog: StoreLog?
    private let post: @Sendable (HubEvent) -> Void

    init(_ storeLog: StoreLog?, _ post: @escaping @Sendable (HubEvent) -> Void) {
        self.storeLog = storeLog
        self.post = post
    }

    func stored(_ id: HubMessageID, as entry: UInt64) {
        post(.stored(id, entry: entry))
    }

    func failed(_ id: HubMessageID, _ error: HubLogError) {
        // The replicator appends the message again.
        storeLog?.write(.warning, "the hub log has not stored a message: \(error)")
    }

    func received(_ entries: [HubLogEntry], of shard: HubShard) {
        post(.received(entries, shard: shard))
    }

    func received(broadcast: [UInt8]) { post(.broadcast(broadcast)) }
}

extension HubLog {
    /// Performs an effect of the replicator.
    func perform(_ effect: HubEffect) {
        switch effect {
        case .append(let message, let log): append(message.bytes, to: log, as: message.id)
        case .follow(let shard, let entry): follow(shard, from: entry)
        case .reread(let entries, let shard): reread(entries, of: shard)
        case .unfollow(let shard): unfollow(shard)
        case .consumed(let length, let shard): consumed(length, of: shard)
        case .broadcast(let bytes): broadcast(bytes)
        }
    }
}
