import SheafBytes
import SheafDocument
import SheafSync

/// An encoder of documents that sends its reader the names of which they have the numbers.
protocol NameTeacher {
    /// Assigns the next number to a name; returns false when none is left.
    mutating func teach(_ name: [UInt8]) -> Bool
}

extension SyncSession: NameTeacher {}

/// A translation of the name numbers of the store to those that the receiver of documents knows.
struct SentNames {
    private var translation = NameTranslation()

    /// The names of the store.
    var source: NameTable { translation.source }
    /// The names that the receiver knows.
    var target: NameTable { translation.target }

    /// Sets the names of the store.
    mutating func update(from names: NameTable) {
        translation.update(from: names, to: translation.target)
    }

    func lacks(_ name: [UInt8]) -> Bool { translation.target.number(of: name) == nil }

    /// Numbers names in order, as long as numbers are left; returns whether all are numbered.
    @discardableResult
    mutating func add(_ names: [[UInt8]], _ teacher: inout some NameTeacher) -> Bool {
        var known = translation.target
        defer { translation.update(from: translation.source, to: known) }
        for name in names {
            guard teacher.teach(name) else { return false }
            _ = known.add(name)
        }
        return true
    }

    /// Returns a document with the numbers of the receiver; a complete one loses its base.
    mutating func encoded(
        _ document: EncodedDocument, _ teacher: inout some NameTeacher
    ) throws(Malformed) -> [UInt8] {
        guard document.hasBase, !document.isPartial else {
            return try renumbered(document, &teacher)
        }
        let plain = try document.settingBase(nil)
        return try plain.span.withUnsafeBytes { (bytes) throws(Malformed) in
            try renumbered(try EncodedDocument(bytes), &teacher)
        }
    }

    private mutating func renumbered(
        _ document: EncodedDocument, _ teacher: inout some NameTeacher
    ) throws(Malformed) -> [UInt8] {
        if let bytes = try translation.translateAll(document).bytes { return bytes }
        add(try translation.unknownNames(of: document), &teacher)
        return try translation.translate(document).bytes ?? []
    }
}
