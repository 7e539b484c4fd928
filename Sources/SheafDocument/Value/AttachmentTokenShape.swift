/// Recognition of attachment tokens by their fields (`format-spec/attachments.md`, "Tokens").
extension Object {
    /// Whether the object has only an attachment id, a length, and optional metadata.
    package var isAttachmentToken: Bool {
        guard 2...3 ~= count, hasFirstName("id"), case .string(let id)? = self["id"],
            id.isAttachmentID, case .integer(let length)? = self["len"],
            0...AttachmentShape.maximumLength ~= length
        else { return false }
        guard count == 3 else { return true }
        guard case .object(let metadata)? = self["metadata"] else { return false }
        return metadata.allSatisfy { if case .string = $0.value { true } else { false } }
    }

    /// Whether a nested object is an attachment token.
    var containsAttachmentToken: Bool {
        contains { field in
            guard case .object(let inner) = field.value else { return false }
            return inner.isAttachmentToken || inner.containsAttachmentToken
        }
    }
}

/// Length of an attachment id, and maximum length of an attachment.
private enum AttachmentShape {
    static let idLength = 64
    static let maximumLength: Int64 = 1 << 36
}

extension String {
    /// Whether the text is an attachment id: 64 hexadecimal digits in lowercase.
    package var isAttachmentID: Bool {
        utf8.count == AttachmentShape.idLength && utf8.allSatisfy { isDigit($0) }
    }
}

private func isDigit(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || 0x61...0x66 ~= byte
}

/// A fast search for possible attachment ids in bytes, with false positives.
package enum AttachmentTexts {
    /// Maximum number of preceding bytes that may be digits by chance, such as those of a stamp.
    private static let maximumStrayDigits = 32

    /// Calls `body` with each sequence of 64 digits that may be an id, until it returns false.
    package static func forEach(
        in bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) {
        let length = AttachmentShape.idLength
        // Each id covers one of the probed offsets.
        var probe = length - 1
        while probe < bytes.count {
            guard isDigit(bytes[probe]) else {
                probe += length
                continue
            }
            var start = probe
            while start > 0, isDigit(bytes[start - 1]) { start -= 1 }
            var end = probe + 1
            while end < bytes.count, isDigit(bytes[end]) { end += 1 }
            for first in start..<max(start, min(end - length + 1, start + maximumStrayDigits + 1)) {
                let text = UnsafeRawBufferPointer(rebasing: bytes[first..<first + length])
                guard body(text) else { return }
            }
            // The next run begins after the byte at `end`.
            probe = end + length
        }
    }

    /// Whether the bytes may contain an attachment id.
    package static func isAny(in bytes: UnsafeRawBufferPointer) -> Bool {
        var isFound = false
        forEach(in: bytes) { _ in
            isFound = true
            return false
        }
        return isFound
    }
}
