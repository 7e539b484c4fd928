/// The shape by which the token of an attachment differs from other objects
/// (`format-spec/attachments.md`, "Tokens").
extension Object {
    /// Whether the object has an id of an attachment, a length and perhaps metadata, and nothing else.
    package var isAttachmentToken: Bool {
        guard 2...3 ~= count, case .string(let id)? = self["id"], id.isAttachmentID,
            case .integer(let length)? = self["len"], 0...AttachmentShape.maximumLength ~= length
        else { return false }
        guard count == 3 else { return true }
        guard case .object(let metadata)? = self["metadata"] else { return false }
        return metadata.allSatisfy { if case .string = $0.value { true } else { false } }
    }

    /// Whether there is such an object in it, in fields of maps.
    var holdsAttachmentToken: Bool {
        contains { field in
            guard case .object(let inner) = field.value else { return false }
            return inner.isAttachmentToken || inner.holdsAttachmentToken
        }
    }
}

/// The lengths of ids, and the longest attachment.
private enum AttachmentShape {
    static let idLength = 64
    static let maximumLength: Int64 = 1 << 36
}

extension String {
    /// Whether the text is the id of an attachment: 64 digits, `0` to `9` and `a` to `f`.
    package var isAttachmentID: Bool {
        utf8.count == AttachmentShape.idLength && utf8.allSatisfy { isDigit($0) }
    }
}

private func isDigit(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || 0x61...0x66 ~= byte
}

/// Texts in bytes that may be ids of attachments: a fast search, which may find more than there are.
package enum AttachmentTexts {
    /// Bytes before a text can be digits by chance, but only a few: those of a stamp.
    private static let mostChance = 32

    /// Calls `body` with each run of 64 digits at which an id may stand, until that returns false.
    package static func forEach(
        in bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) {
        let length = AttachmentShape.idLength
        // Each id covers one of these places.
        var place = length - 1
        while place < bytes.count {
            guard isDigit(bytes[place]) else {
                place += length
                continue
            }
            var start = place
            while start > 0, isDigit(bytes[start - 1]) { start -= 1 }
            var end = place + 1
            while end < bytes.count, isDigit(bytes[end]) { end += 1 }
            for first in start..<max(start, min(end - length + 1, start + mostChance + 1)) {
                let text = UnsafeRawBufferPointer(rebasing: bytes[first..<first + length])
                guard body(text) else { return }
            }
            // The next run begins after the byte at `end`.
            place = end + length
        }
    }

    /// Whether there is any.
    package static func isAny(in bytes: UnsafeRawBufferPointer) -> Bool {
        var isFound = false
        forEach(in: bytes) { _ in
            isFound = true
            return false
        }
        return isFound
    }
}
