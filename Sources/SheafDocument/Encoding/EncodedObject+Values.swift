package import SheafBytes

extension EncodedObject {
    /// Returns the visible value of a field; nil if there is none.
    package func value(of name: String, _ names: NameTable) throws(Malformed) -> Value? {
        let number = name.utf8.withContiguousStorageIfAvailable {
            names.number(of: UnsafeRawBufferPointer($0))
        }
        if let number, let number {
            if let index = index(ofNumber: UInt32(number)) {
                return try entry(index).value(names, depth: 1)
            }
            guard count > numberedCount else { return nil }
        }
        return try FieldPath([name], in: names).value(in: self, names)
    }
}
