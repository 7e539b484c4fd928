/// The error that an inspector cannot start.
public struct InspectorError: Error, Equatable, CustomStringConvertible, Sendable {
    /// The reason, and what would be right.
    public let message: String

    init(_ message: String) {
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
