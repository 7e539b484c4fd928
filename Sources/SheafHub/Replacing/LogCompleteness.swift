import SheafHubLog
import SheafReplication

/// The knowledge of a hub about having read a log to its end.
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

    /// Whether a hub that does not find its own mark is at the end of a log all the same.
    ///
    /// Entries that it had read are gone, so the mark has one of their numbers. If another hub
    /// reads the log, that one is complete.
    func isAtEnd(
        _ incident: ShardIncident, _ view: HubView, _ settings: HubSettings, at now: UInt64
    ) -> Bool {
        guard incident.kind != .loss, let since = unchangedSince else { return false }
        return view.others.allSatisfy(\.shards.isEmpty) && view.hasMostStored
            && now.hasPassed(settings.replacementMilliseconds, since: since)
    }
}
