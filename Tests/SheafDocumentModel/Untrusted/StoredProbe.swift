package import SheafDocument

/// Reads what stands around documents, and texts, from bytes that nobody vouches for.
package enum StoredProbe {
    /// Payloads and keys of a store; returns the promise that was broken.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> String? {
        if let payload = try? DocumentPayload(bytes) {
            _ = try? payload.vector()
            _ = try? payload.baseVector()
        }
        if let origin = try? CommitOrigin(decoding: bytes), origin.bytes != Array(bytes) {
            return "the origin of a commit has other bytes"
        }
        if let key = StoreKey(bytes) {
            if key.bytes != Array(bytes) { return "a key has other bytes" }
            if case .document(_, let id) = key { _ = try? DocumentID.id(of: id) }
        }
        return readSortKey(bytes)
    }

    private static func readSortKey(_ bytes: UnsafeRawBufferPointer) -> String? {
        for descending in [[false], [true], [false, true, false]] {
            guard let values = try? SortKeyReader.read(bytes, descending: descending) else {
                continue
            }
            var writer = SortKeyWriter()
            for (value, isDescending) in zip(values, descending) {
                writer.append(value, descending: isDescending)
            }
            guard writer.bytes == Array(bytes) else {
                return "the key of \(values) is \(writer.bytes)"
            }
        }
        return nil
    }

    /// A text that may be JSON; returns the promise that was broken.
    package static func readJSON(_ text: UnsafeRawBufferPointer, _ names: NameTable) -> String? {
        let stamp = Stamp(HybridTime(rawValue: 2), Site(rawValue: 1))
        let value = try? Value(jsonBytes: Array(text))
        guard case .object(let object) = value else {
            if let value, (try? Value(json: value.json)) != value { return "JSON of \(value)" }
            return nil
        }
        // What is written and read again is the same; `==` takes 1 and 1.0 for equal.
        guard let again = try? Value(json: Value.object(object).json),
            ModelDocument.key(again) == ModelDocument.key(.object(object))
        else { return "the JSON of \(object) is read as another value" }
        guard let document = try? Insertion.document(object, at: stamp, names) else {
            return "no document of the object \(object)"
        }
        let valid = document.withUnsafeBytes { (try? EncodedDocument($0).validate(names)) != nil }
        return valid ? nil : "the document of \(object) is not valid"
    }
}
