import Reports

extension ReportTable {
    package func text(as format: DumpFormat, isRaw: Bool = false) -> String {
        var text = ""
        write(as: format, isRaw: isRaw) { (piece) throws(Never) in
            text += String(decoding: piece, as: UTF8.self)
        }
        return text
    }
}

extension Dump {
    package func text(as format: DumpFormat) -> String {
        var text = ""
        write(as: format) { (piece) throws(Never) in text += String(decoding: piece, as: UTF8.self)
        }
        return text
    }
}
