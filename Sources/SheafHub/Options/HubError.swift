/// The error that a hub cannot start, or cannot do what was requested.
public struct HubError: Error, Equatable, CustomStringConvertible, Sendable {
    /// The reason, and what would be right.
    public let message: String

    init(_ message: String) {
        self.message = message
    }

    /// The engine has no configuration, and this hub has used one.
    static let lostConfiguration = HubError(
        "the engine has lost the configuration of the hubs; restore its object 'config' from a "
            + "backup, or run 'sheaf hub replace --force' on a hub that runs")

    /// The message.
    public var description: String { message }
}
