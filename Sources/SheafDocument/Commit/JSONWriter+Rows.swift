package import SheafBytes

/// Conversion of encoded documents with their ids to JSON.
extension JSONWriter {
    /// Writes the visible fields of a document and its id, in order of name.
    package mutating func write(
        _ fields: EncodedObject, id: UnsafeRawBufferPointer, idName: String, _ names: NameTable
    ) throws(Malformed) {
        let id = try DocumentID.id(of: id)
        var isIDWritten = false
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for (name, index) in try fields.sortedNames(names) {
            if !isIDWritten, UTF8Order.compare(idName, name) < 0 {
                isIDWritten = true
                write(name: idName, isFirst: &isFirst)
                write(id)
            }
            let field = try fields.entry(index)
            guard let entry = try field.shown() else { continue }
            write(name: name, isFirst: &isFirst)
            try write(entry, in: field, names, depth: 1)
        }
        if !isIDWritten {
            write(name: idName, isFirst: &isFirst)
            write(id)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func write(name: String, isFirst: inout Bool) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        write(text: name)
        bytes.append(UInt8(ascii: ":"))
    }
}
