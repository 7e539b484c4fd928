/// Encoding of an instance as the fields of a document, without a `Value` in between.
///
/// Fields are written in the order in which the type encodes them, so each container must be
/// complete before the next one begins. An instance that returns to an ended container, or uses a
/// superclass encoder, needs `ValueEncoder`: its bytes are discarded. So are those of an instance
/// that cannot be encoded; `ValueEncoder` reports the error.
///
/// A *member* is a field of an object, or an element of an array.
final class SequentialEncoding {
    /// The error that ends the encoding of an instance that needs `ValueEncoder`.
    struct NeedsValueEncoding: Error {}

    /// A reference to a container, which may have ended.
    struct ContainerReference {
        /// Its index, which is the number of the containers around it.
        var index: Int32
        /// A serial number, unique among containers and members.
        var serial: Int32
    }

    private struct OpenContainer {
        let writerLevel: EntryWriter.Level
        let isObject: Bool
        /// Whether the container is part of a register, in which objects are not maps.
        let isRegister: Bool
        let serial: Int32
        /// The member that the container fills, and its key; nil for the document itself.
        let member: Int32
        let key: PathKey?
        /// The field or element that was begun and has no value yet; zero if there is none.
        var openMember: Int32 = 0
        /// The name of that field, or the index of that element.
        var openKey = PathKey(index: 0)
    }

    /// Maximum nesting of types: wrapper types and optionals add no arrays or objects.
    private static let maximumTypeDepth = 3 * Value.maximumDepth
    /// Maximum number of types in `compositeTypes`, which is searched from the start.
    private static let maximumCompositeTypes = 16

    // Checks of exclusive access would take a fifth of the time; no access spans another one.

    // The writer and the names belong to the call of `encode`.
    @exclusivity(unchecked) private var writer: UnsafeMutablePointer<EntryWriter>?
    @exclusivity(unchecked) private var names = NameTable()
    @exclusivity(unchecked) private var coding = ValueCoding()
    @exclusivity(unchecked) private var levels: [OpenContainer] = []
    @exclusivity(unchecked) private var lastSerial: Int32 = 0
    @exclusivity(unchecked) private var typeDepth = 0
    /// The value of the field `_id` of the document.
    @exclusivity(unchecked) private var id: Value?
    @exclusivity(unchecked) private var needsValueEncoding = false
    /// Types known to encode through a container instead of as a single value.
    @exclusivity(unchecked) private var compositeTypes: [ObjectIdentifier] = []

    /// Encodes all fields of an instance except `_id`; returns nil if it needs `ValueEncoder`.
    func encode<T: Encodable>(
        _ source: T, into writer: UnsafeMutablePointer<EntryWriter>, _ coding: ValueCoding,
        _ names: NameTable
    ) -> FoundID? {
        let type = ObjectIdentifier(T.self)
        // A `Value` encodes an object by its fields.
        if T.self != Value.self, !compositeTypes.contains(type) {
            guard Encoding.leaf(of: source) == nil else { return nil }
            addComposite(type)
        }
        (self.writer, self.coding, self.names) = (writer, coding, names)
        (typeDepth, id, needsValueEncoding) = (0, nil, false)
        let rootSerial = nextSerial()
        levels.append(
            OpenContainer(
                writerLevel: writer.pointee.beginObject(), isObject: true, isRegister: false,
                serial: rootSerial, member: rootSerial, key: nil))
        // An instance may keep its encoder, so no container is open after the call.
        defer {
            (self.writer, self.names, id) = (nil, NameTable(), nil)
            levels.removeAll(keepingCapacity: true)
        }
        let root = SequentialEncoder(
            self, ContainerReference(index: -1, serial: 0), member: rootSerial)
        guard (try? source.encode(to: root)) != nil, !needsValueEncoding else { return nil }
        while levels.count > 1 { endLast() }
        guard !needsValueEncoding, levels[0].openMember == 0,
            writer.pointee.endObject(levels[0].writerLevel) == nil
        else { return nil }
        return id.map { .id($0) } ?? .missing
    }

    /// Falls back to `ValueEncoder`; what follows is discarded.
    func fallBack() { needsValueEncoding = true }

    // MARK: Containers

    /// Returns the container of a member: a new one, or the open one if it was requested before.
    func container(
        isObject: Bool, at member: Int32, in parent: ContainerReference
    ) -> ContainerReference {
        let index = Int(parent.index) + 1
        if index < levels.count, levels[index].member == member, levels[index].isObject == isObject
        {
            while levels.count - 1 > index { endLast() }
            return ContainerReference(index: Int32(index), serial: levels[index].serial)
        }
        guard parent.index >= 0, isPending(member, in: parent), levels.count < Value.maximumDepth,
            let writer
        else {
            fallBack()
            return parent
        }
        levels[index - 1].openMember = 0
        let isRegister = levels[index - 1].isRegister || !isObject
        let serial = nextSerial()
        writer.pointee.write(isObject ? (levels[index - 1].isRegister ? .object : .map) : .array)
        levels.append(
            OpenContainer(
                writerLevel: writer.pointee.beginObject(), isObject: isObject,
                isRegister: isRegister, serial: serial, member: member,
                key: levels[index - 1].openKey))
        return ContainerReference(index: Int32(index), serial: serial)
    }

    /// Begins a container as a member of another one.
    func nested(
        isObject: Bool, _ key: PathKey, in container: ContainerReference
    ) -> ContainerReference {
        guard begin(key.name ?? "", in: container), !isID(key, in: container) else {
            fallBack()
            return container
        }
        let member = numberMember(key, in: container)
        return self.container(isObject: isObject, at: member, in: container)
    }

    private func isID(_ key: PathKey, in container: ContainerReference) -> Bool {
        container.index == 0 && key.name == DocumentDecoder.idName
    }

    /// Assigns a serial number to the member begun last, and returns it.
    private func numberMember(_ key: PathKey, in container: ContainerReference) -> Int32 {
        let serial = nextSerial()
        levels[Int(container.index)].openMember = serial
        levels[Int(container.index)].openKey = key
        return serial
    }

    /// Returns another serial number; zero is none.
    private func nextSerial() -> Int32 {
        lastSerial = lastSerial == .max ? 1 : lastSerial + 1
        return lastSerial
    }

    /// Returns the keys of a container, and of its open member if it is given.
    func codingPath(of container: ContainerReference, _ member: Int32? = nil) -> [any CodingKey] {
        let index = Int(container.index)
        guard index >= 0 else { return [] }
        var keys: [any CodingKey] = levels.prefix(index + 1).compactMap(\.key)
        guard isOpen(container) else {
            fallBack()
            return keys
        }
        if let member {
            if levels[index].openMember == member {
                keys.append(levels[index].openKey)
            } else if index + 1 < levels.count, levels[index + 1].member == member,
                let key = levels[index + 1].key
            {
                keys.append(key)
            }
        }
        return keys
    }

    /// Whether a container has not ended, and the encoding has not fallen back.
    private func isOpen(_ container: ContainerReference) -> Bool {
        let index = Int(container.index)
        return !needsValueEncoding && index >= 0 && index < levels.count
            && levels[index].serial == container.serial
    }

    /// Whether `member` is the last one begun in a container, and has no value yet.
    private func isPending(_ member: Int32, in container: ContainerReference) -> Bool {
        isOpen(container) && levels.count == Int(container.index) + 1
            && levels[Int(container.index)].openMember == member
    }

    /// Ends the innermost container, and with it a member.
    private func endLast() {
        guard let writer, let level = levels.popLast() else { return }
        if level.openMember != 0 { fallBack() }
        // The fields are incomplete after a fallback.
        guard !needsValueEncoding else { return }
        if level.isObject {
            if writer.pointee.endObject(level.writerLevel) != nil { fallBack() }
        } else {
            writer.pointee.endArray(level.writerLevel)
        }
        endMember()
    }

    /// Ends the last field or element of the innermost container.
    private func endMember() {
        guard let writer, let level = levels.last else { return }
        if level.isObject {
            writer.pointee.endField()
        } else {
            writer.pointee.endElement(level.writerLevel)
        }
    }

    // MARK: Values

    /// Begins a member; returns false if the container has ended.
    @inline(__always)
    private func begin(_ name: String, in container: ContainerReference) -> Bool {
        guard isOpen(container) else {
            fallBack()
            return false
        }
        let index = Int(container.index)
        while levels.count - 1 > index { endLast() }
        guard levels[index].openMember == 0 else {
            fallBack()
            return false
        }
        if levels[index].isObject {
            writer?.pointee.beginField(name, names)
        }
        return true
    }

    /// Writes a field or an element.
    @inline(__always)
    func put(
        _ name: String, in container: ContainerReference, _ value: @autoclosure () -> Value,
        _ write: (inout EntryWriter) -> Void
    ) {
        guard container.index > 0 || name != DocumentDecoder.idName else {
            return setID(value(), in: container)
        }
        guard begin(name, in: container), let writer else { return }
        write(&writer.pointee)
        endMember()
    }

    private func setID(_ value: Value, in container: ContainerReference) {
        guard isOpen(container), id == nil else { return fallBack() }
        id = value
    }

    /// Writes a value of any kind as a field or an element.
    func put(_ name: String, in container: ContainerReference, _ value: Value) {
        guard !value.isDeeper(than: Value.maximumDepth - levels.count) else { return fallBack() }
        let isRegister = isOpen(container) && levels[Int(container.index)].isRegister
        put(name, in: container, value) { writer in writer.write(member: value, names, isRegister) }
    }

    /// Writes an instance as a field or an element.
    func put<T: Encodable>(_ key: PathKey, in container: ContainerReference, encoding source: T)
        throws
    {
        if try putLeaf(key.name ?? "", in: container, source) { return }
        // After a fallback, nothing fails that `ValueEncoder` could encode.
        guard begin(key.name ?? "", in: container), !isID(key, in: container) else {
            return fallBack()
        }
        guard typeDepth < Self.maximumTypeDepth else { throw fallingBack() }
        let member = numberMember(key, in: container)
        try encodeParts(of: source, as: member, in: container)
        guard isOpen(container) else { return fallBack() }
        if levels[Int(container.index)].openMember == member {
            // An instance without content is an empty object.
            _ = self.container(isObject: true, at: member, in: container)
        }
        while levels.count - 1 > Int(container.index) { endLast() }
    }

    /// Writes an instance that encodes as a single value; returns false for other types.
    private func putLeaf<T: Encodable>(
        _ name: String, in container: ContainerReference, _ source: T
    ) throws -> Bool {
        let type = ObjectIdentifier(T.self)
        if compositeTypes.contains(type) { return false }
        switch Encoding.leaf(of: source) {
        case .value(let value)?: put(name, in: container, value)
        case .scalar(let scalar)?: put(name, in: container, try value(of: scalar))
        case nil:
            addComposite(type)
            return false
        }
        return true
    }

    private func addComposite(_ type: ObjectIdentifier) {
        if compositeTypes.count < Self.maximumCompositeTypes { compositeTypes.append(type) }
    }

    // MARK: Single values

    /// Writes the value of a member.
    func set(_ value: Value, at member: Int32, in parent: ContainerReference) {
        guard parent.index >= 0, isPending(member, in: parent), let writer,
            !value.isDeeper(than: Value.maximumDepth - levels.count)
        else { return fallBack() }
        let index = Int(parent.index)
        levels[index].openMember = 0
        writer.pointee.write(member: value, names, levels[index].isRegister)
        endMember()
    }

    /// Writes the value of a member from an instance.
    func set<T: Encodable>(encoding source: T, at member: Int32, in parent: ContainerReference)
        throws
    {
        switch Encoding.leaf(of: source) {
        case .value(let value)?: return set(value, at: member, in: parent)
        case .scalar(let scalar)?:
            return set(try value(of: scalar), at: member, in: parent)
        case nil: break
        }
        guard !needsValueEncoding else { return }
        guard typeDepth < Self.maximumTypeDepth else { throw fallingBack() }
        try encodeParts(of: source, as: member, in: parent)
    }

    // MARK: Errors

    // A type may catch an error and continue. Its instance then has another value, or no value at
    // all, so each error falls back.

    private func encodeParts<T: Encodable>(
        of source: T, as member: Int32, in container: ContainerReference
    ) throws {
        typeDepth += 1
        do { try source.encode(to: SequentialEncoder(self, container, member: member)) } catch {
            fallBack()
            throw error
        }
        typeDepth -= 1
    }

    private func value(of scalar: CodedScalar) throws -> Value {
        do { return try scalar.value(coding, nil) } catch {
            fallBack()
            throw error
        }
    }

    /// Falls back and returns the error that ends the encoding.
    func fallingBack() -> NeedsValueEncoding {
        fallBack()
        return NeedsValueEncoding()
    }
}

extension EntryWriter {
    /// Writes a value that shares the stamp of the root, within a map or a register.
    fileprivate mutating func write(member value: Value, _ names: NameTable, _ isRegister: Bool) {
        guard !isRegister, case .object(let object) = value, let stamp = rootStamp,
            !object.isAttachmentToken
        else { return write(value, names) }
        write(.map)
        writeFields(object, at: stamp, names)
    }
}
