package import SheafBytes

/// The elements of one field of consecutive documents, with copies of their texts.
///
/// Eight bytes can be loaded from the beginning of each text.
package final class ElementColumn: Sendable {
    // The memory is immutable once the column exists.
    /// The elements, none of which is of the kind `other`.
    package nonisolated(unsafe) let elements: UnsafePointer<FieldElement>
    private nonisolated(unsafe) let memory: UnsafeMutableRawPointer
    package let byteCount: Int

    /// Creates a column of elements whose texts begin at offsets in `texts`.
    fileprivate init(_ found: [FieldElement], _ texts: [UInt8]) {
        let size = found.count * MemoryLayout<FieldElement>.stride
        byteCount = size + texts.count
        memory = .allocate(
            byteCount: byteCount + MemoryLayout<UInt64>.size,
            alignment: MemoryLayout<FieldElement>.alignment)
        let elements = memory.bindMemory(to: FieldElement.self, capacity: found.count)
        self.elements = UnsafePointer(elements)
        let start = UnsafeRawPointer(memory + size)
        texts.withUnsafeBytes { texts in
            guard let base = texts.baseAddress else { return }
            (memory + size).copyMemory(from: base, byteCount: texts.count)
        }
        for (number, element) in found.enumerated() {
            (elements + number).initialize(
                to: element.kind == .string ? element.moved(to: start) : element)
        }
    }

    deinit {
        memory.deallocate()
    }
}

/// A collector of the elements of a column.
package struct ElementColumnBuilder {
    private let path: FieldPath
    private var elements: [FieldElement] = []
    private var texts: [UInt8] = []
    /// The elements of the first different texts, which later equal texts use again.
    private var shared: [FieldElement] = []
    private var isPlain = true

    private static let maximumShared = 16
    /// Maximum length of a text in a column; documents with longer ones are read.
    package static let maximumTextLength = 1_024

    package init(_ path: FieldPath) {
        self.path = path
    }

    /// Adds the element of the field of a document, whose bytes may be temporary.
    package mutating func append(_ fields: EncodedObject) throws(Malformed) {
        guard isPlain else { return }
        let element = try FieldElement(try path.find(in: fields))
        switch element.kind {
        case .other: isPlain = false
        case .string: try append(text: element)
        default: elements.append(element)
        }
    }

    private mutating func append(text element: FieldElement) throws(Malformed) {
        let bytes = element.text
        guard bytes.count <= Self.maximumTextLength else {
            isPlain = false
            return
        }
        let known = texts.withUnsafeBytes { texts in
            shared.first { known in
                guard let start = texts.baseAddress else { return false }
                return known.moved(to: start).text.hasSameBytes(as: bytes)
            }
        }
        if let known {
            elements.append(known)
            return
        }
        _ = try element.value()
        let copied = FieldElement(.string, UInt64(texts.count), length: UInt32(bytes.count))
        texts.append(contentsOf: bytes)
        elements.append(copied)
        if shared.count < Self.maximumShared { shared.append(copied) }
    }

    /// Returns the column and resets the builder; nil if a value must be decoded.
    package mutating func finish() -> ElementColumn? {
        defer { self = ElementColumnBuilder(path) }
        return isPlain ? ElementColumn(elements, texts) : nil
    }
}

extension FieldElement {
    /// Returns the text at the same offset from `start`.
    fileprivate func moved(to start: UnsafeRawPointer) -> FieldElement {
        FieldElement(
            text: UnsafeRawBufferPointer(start: start + Int(offset), count: textCount))
    }
}
