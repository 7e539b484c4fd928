public import Foundation
import Sheaf

/// A file that is here; as an argument of a statement it becomes the token that documents have of it.
public final class DittoAttachment: Sendable {
    private let attachment: Attachment

    init(_ attachment: Attachment) {
        self.attachment = attachment
    }

    /// What it is called: a hash of its bytes.
    public var id: String { attachment.id.description }
    /// How many bytes it has.
    public var len: UInt64 { UInt64(attachment.length) }
    /// What was said of it when it was added.
    public var metadata: [String: String] { attachment.metadata }
    /// What documents have of it.
    public var token: DittoAttachmentToken { DittoAttachmentToken(attachment.token) }

    /// All bytes of it; keeps the thread while they are read.
    public func data() throws -> Data {
        let attachment = attachment
        return try waiting { Data(try await attachment.data()) }
    }

    /// Makes a file of it at `path`, where nothing may be yet; keeps the thread meanwhile.
    public func copy(toPath path: String) throws {
        let attachment = attachment
        try waiting { try await attachment.copy(to: path) }
    }
}

/// What a document has of a file.
public struct DittoAttachmentToken: Hashable, Sendable {
    let token: AttachmentToken

    init(_ token: AttachmentToken) {
        self.token = token
    }

    /// Reads what a document has in a field for attachments.
    public init(_ value: [String: Any?]) throws {
        let object: Object
        do throws(Unbridgeable) {
            object = try Object(bridging: value)
        } catch {
            throw DittoError.storeError(
                reason: .attachmentTokenInvalid(message: "the token \(error)"))
        }
        do {
            token = try AttachmentToken(.object(object))
        } catch {
            throw DittoError.storeError(reason: .attachmentTokenInvalid(message: "\(error)"))
        }
    }

    /// What the file is called.
    public var id: String { token.id.description }
    /// How many bytes it has.
    public var len: UInt64 { UInt64(token.length) }
    /// What was said of it when it was added.
    public var metadata: [String: String] { token.metadata }
}
