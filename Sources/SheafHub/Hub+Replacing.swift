import SheafReplication
import SheafSystem

/// The replacement of the log on request.
extension Hub {
    /// Replaces the log by a new one, which begins with a snapshot of the documents of this hub.
    ///
    /// Returns the number of the new log. Other hubs load the snapshot and append what it lacks;
    /// meanwhile nothing is acknowledged. It is needed after the engine was restored from a backup,
    /// or moved; if the log contradicts itself, hubs replace it without a request.
    ///
    /// The hub must have read the log to its end, unless the request is forced: then it also takes
    /// over from a hub that replaces the log and has not finished, and restores a configuration
    /// that the engine has lost.
    ///
    /// - Parameter isForced: Whether the log is replaced by what this hub has, complete or not.
    @discardableResult
    public nonisolated(nonsending) func replaceLog(isForced: Bool = false) async throws -> UInt64 {
        let (file, threads) = (file, threads)
        return try await Thread.run(name: "sheaf-hub-replace") {
            Result {
                guard try threads.replaceLog(isForced: isForced) else {
                    throw HubError(
                        "another hub is replacing the log; try again once 'sheaf hub status' does "
                            + "not report it any more, or use --force")
                }
                guard let (configuration, _) = try file.load() else {
                    throw HubError.lostConfiguration
                }
                threads.record(configuration)
                return configuration.number
            }
        }.get()
    }
}
