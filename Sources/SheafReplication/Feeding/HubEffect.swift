package import SheafHubLog

/// An event of the hub log.
package enum HubEvent: Sendable {
    /// Entries of a shard, in the order of their delivery.
    case received([HubLogEntry], shard: HubShard)
    /// The engine has stored a message as an entry.
    case stored(HubMessageID, entry: UInt64)
    /// A broadcast of another hub.
    case broadcast([UInt8])
}

/// A request of a hub to its log.
package enum HubEffect: Sendable {
    /// Stores a message, once for each id; `HubEvent.stored` or nothing follows.
    case append(HubMessageChain.Encoded, to: HubLogID)
    /// Delivers the entries of a shard from a number on, and then new ones.
    case follow(HubShard, from: UInt64)
    /// Ends the delivery of entries of a shard.
    case unfollow(HubShard)
    /// Delivers entries once more, as the leader has them.
    case reread(ClosedRange<UInt64>, shard: HubShard)
    /// Bytes of delivered entries have been processed.
    case consumed(Int, shard: HubShard)
    /// Sends bytes to all other hubs, if possible.
    case broadcast([UInt8])
}
