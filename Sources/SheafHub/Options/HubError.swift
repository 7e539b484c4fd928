/// The error that a hub cannot start, or cannot do what was requested.
public struct HubError: Error, Equatable, CustomStringConvertible, Sendable {
    /// The reason, and what would be right.
    public let message: String

    init(_ message: String) {
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
