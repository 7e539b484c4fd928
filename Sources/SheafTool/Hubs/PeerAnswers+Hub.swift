import SheafDocument
import SheafHub

/// Requests to a running hub.
extension PeerAnswers {
    /// Returns the status of the hub, as JSON.
    func hubStatus() throws(ToolError) -> String {
        Value.object(try running().status.data).json
    }

    /// Lets all hubs write the newest version of messages; returns it, as JSON.
    func upgradeHubs() throws(ToolError) -> String {
        let hub = try running()
        let format = try waitFor { try await hub.upgrade() }
        return Value.object(["format": .integer(Int64(format))]).json
    }

    /// Replaces the log of all hubs; returns its number, as JSON.
    func replaceLog(isForced: Bool) throws(ToolError) -> String {
        let hub = try running()
        let number = try waitFor { try await hub.replaceLog(isForced: isForced) }
        return Value.object(["logNumber": .integer(Int64(clamping: number))]).json
    }

    private func running() throws(ToolError) -> Hub {
        guard let hub else {
            throw .failed(
                "the peer on this store is no hub; start one with 'sheaf hub serve'")
        }
        return hub
    }
}
