import SheafHubLog
import SheafReplication

/// Whether this hub has read a log to its end.
struct LogCompleteness {
    /// The last log that was read to its end; nil if none was.
    private var complete: HubLogID?
    /// The length of the entries that were read, and since when it has not changed.
    private var readLength: UInt64 = 0
    private var unchangedSince: UInt64?

    mutating func record(_ view: HubView, at now: UInt64) {
        if view.hasCaughtUp { complete = view.log }
        let length = view.shards.reduce(0) { $0 + $1.readLength }
        guard length != readLength || unchangedSince == nil else { return }
        (readLength, unchangedSince) = (length, now)
    }

    /// Counts a log as read to its end, since an operator has decided so.
    mutating func force(_ log: HubLogID) { complete = log }

    /// Whether the store has all that was in a log when this hub began to read it.
    func isComplete(_ log: HubLogID) -> Bool { complete == log }

    /// Whether this hub is at the end of a log although its own mark did not appear.
    ///
    /// After a truncation the mark has the number of an entry that was read before. False while
    /// another hub follows a shard.
    func isAtEnd(
        _ incident: ShardIncident, _ view: HubView, _ settings: HubSettings, at now: UInt64
    ) -> Bool {
        guard incident.kind != .loss, let since = unchangedSince else { return false }
        return view.others.allSatisfy(\.shards.isEmpty) && view.hasMostStored
            && now.hasPassed(settings.replacementMilliseconds, since: since)
    }
}
