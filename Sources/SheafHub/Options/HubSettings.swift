package import SheafHubLog

/// When a hub writes snapshots, trims its log and replaces it.
package struct HubSettings: Sendable {
    /// The versions of messages that the program reads, for other hubs.
    package var versions: ClosedRange<UInt8> = HubFormats.supported
    /// Interval between two steps.
    package var stepMilliseconds: UInt64 = 1_000
    /// Interval after a failure, in which an engine may return.
    package var retryMilliseconds: UInt64 = 5_000
    /// Length of entries after the last snapshot of a shard beyond which one is written, unless
    /// half of that snapshot is longer.
    package var snapshotLength: UInt64 = 64 << 20
    /// Time after the last snapshot at which one is written if there are newer entries.
    package var snapshotMilliseconds: UInt64 = 24 * 3_600_000
    /// Least time between two snapshots of a shard.
    package var leastMilliseconds: UInt64 = 600_000
    /// Number of bytes that a snapshot writes, or its verification reads, in a second.
    package var bytesPerSecond = 8 << 20
    /// Time without verification after which a snapshot is written again, in addition to the time
    /// of writing and reading it.
    package var verificationMilliseconds: UInt64 = 3_600_000
    /// Interval at which new manifests are looked for.
    package var listMilliseconds: UInt64 = 10_000
    /// Age of the earlier snapshot at which the entries before it are removed.
    package var trimMilliseconds: UInt64 = 3_600_000
    /// Time after a log was replaced at which it is removed, and its snapshots.
    package var removalMilliseconds: UInt64 = 7 * 24 * 3_600_000
    /// Time after which a snapshot of the log is removed that the configuration does not name.
    package var supersededMilliseconds: UInt64 = 3_600_000
    /// Age at which a snapshot that no hub has verified counts as superseded.
    package var unverifiedMilliseconds: UInt64 = 24 * 3_600_000
    /// Interval at which such objects are looked for.
    package var cleaningMilliseconds: UInt64 = 3_600_000
    /// Interval at which files are looked for that clients seek, or have sent.
    package var fileStepMilliseconds: UInt64 = 250
    /// Time after which a file is sought that another hub has not put into the object store.
    package var fileSearchMilliseconds: UInt64 = 10_000
    /// Number of bytes of files that are put, or read, in a second.
    package var fileBytesPerSecond = 32 << 20
    /// Time after the last step of a replacement at which another hub may take over.
    package var takeoverMilliseconds: UInt64 = 60_000
    /// Time after which a log with an incident is replaced.
    package var incidentMilliseconds: UInt64 = 5_000
    /// Least time between two replacements that a hub begins.
    package var replacementMilliseconds: UInt64 = 60_000

    /// Length of the documents of a part of a snapshot.
    package var partLength = HubLimits.partLength
    /// Length of the documents that are loaded in one commit.
    package var commitLength = 16 << 20

    /// Number of chunks of a part of a file, which all hubs use.
    package var fileChunks = 64

    package init() {}

    /// Returns the time, in nanoseconds, at which the next step begins.
    ///
    /// - Parameter milliseconds: The interval after a step that has not failed.
    package func nextStep(
        after milliseconds: UInt64, hasFailed: Bool, at now: UInt64
    ) -> UInt64 {
        // An engine may respond again after a failure.
        now + (hasFailed ? retryMilliseconds : milliseconds) * 1_000_000
    }

    /// Age of a snapshot at which another one is written, since no hub has verified it.
    package func verificationMilliseconds(of manifest: SnapshotManifest) -> UInt64 {
        let (transfer, isTooLong) = manifest.length.multipliedReportingOverflow(by: 2_000)
        let milliseconds = isTooLong ? .max : transfer / UInt64(max(bytesPerSecond, 1))
        let (sum, isEndless) = verificationMilliseconds.addingReportingOverflow(milliseconds)
        return isEndless ? .max : sum
    }

    /// Whether a snapshot may be written at this time, after the last one of its shard.
    package func allowsSnapshot(after last: UInt64?, at now: UInt64) -> Bool {
        last.map { now.hasPassed(leastMilliseconds, since: $0) } ?? true
    }

    /// Whether a shard needs another snapshot after entries of a length were read.
    ///
    /// - Parameter newest: The length of the newest snapshot; 0 if there is none.
    /// - Parameter since: The time of the newest snapshot, or the start of reading the shard.
    package func needsSnapshot(
        readLength length: UInt64, after newest: UInt64, since: UInt64, at now: UInt64
    ) -> Bool {
        if length > max(snapshotLength, newest / 2) { return true }
        return length > min(snapshotLength, Self.idleLength)
            && now.hasPassed(snapshotMilliseconds, since: since)
    }

    /// Length of the entries that a hub without clients appends in some days, its marks.
    package static let idleLength: UInt64 = 64 << 10
}

extension UInt64 {
    /// Whether at least an interval has passed at this time, since another one.
    package func hasPassed(_ interval: UInt64, since start: UInt64) -> Bool {
        self >= start && self - start >= interval
    }
}
