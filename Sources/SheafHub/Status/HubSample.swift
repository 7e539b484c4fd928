package import SheafHubLog
package import SheafReplication

/// The observations of the threads of a hub, from which its status follows.
package struct HubSample: Sendable {
    /// The progress of the peer; nil until its thread has responded.
    package var progress: HubProgress?
    /// When its thread last responded.
    package var respondedAt: UInt64
    package var configuration: HubConfiguration
    /// When the configuration was last read.
    package var configuredAt: UInt64
    /// Why the configuration could not be read the last time; nil if it was.
    package var configurationFailure: String?
    package var traffic = EngineTraffic()
    package var hubs = OtherHubs()
    package var maintenance = MaintenanceCounts()
    package var files = Files()
    /// Whether clients can connect.
    package var isListening = false
    package var isDraining = false
    package var lag = HubLag()

    package init(respondedAt: UInt64, configuration: HubConfiguration, configuredAt: UInt64) {
        self.respondedAt = respondedAt
        self.configuration = configuration
        self.configuredAt = configuredAt
    }
}

extension HubSample {
    /// The files of documents, after the last step of their thread.
    package struct Files: Sendable {
        /// Number of files that the engine may lack, and of those among them that this hub has.
        package var unstoredCount: Int
        package var localCount: Int
        /// The commit up to which the references of documents are known.
        package var commit: UInt64
        /// A failure that has not ended.
        package var failure: String?

        package init(
            unstoredCount: Int = 0, localCount: Int = 0, commit: UInt64 = 0, failure: String? = nil
        ) {
            self.unstoredCount = unstoredCount
            self.localCount = localCount
            self.commit = commit
            self.failure = failure
        }

        /// Whether this hub may have files of documents up to a commit that the engine lacks.
        package func mayHaveOnlyCopies(through commit: UInt64) -> Bool {
            localCount > 0 || self.commit < commit
        }
    }
}

/// How long commits take until they are hub-durable.
package struct HubLag: Sendable {
    /// The first commit that was not hub-durable, and when it was found.
    private var oldest: (commit: UInt64, at: UInt64)?

    package init() {}

    /// Records the progress of a hub.
    package mutating func record(commit: UInt64, hubDurable: UInt64, at now: UInt64) {
        if let oldest, hubDurable < oldest.commit { return }
        oldest = hubDurable < commit ? (commit, now) : nil
    }

    /// Returns the time since a commit was found that is not hub-durable; 0 if all are.
    package func nanoseconds(at now: UInt64) -> UInt64 {
        oldest.map { now - min(now, $0.at) } ?? 0
    }
}
