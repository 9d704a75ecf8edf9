import ArgumentParser
import Foundation

extension CommandLineProgram {
    /// Ends the process as the argument parser would, but says in one line what is wrong with the
    /// command line, as every other failure is said.
    static func exit(withError error: any Error) -> Never {
        let code = exitCode(for: error)
        guard code == .validationFailure else {
            print(fullMessage(for: error))
            Foundation.exit(code.rawValue)
        }
        let words = message(for: error).split(whereSeparator: \.isNewline).joined(separator: "; ")
        FileHandle.standardError.write(
            Data("\(programName): \(words) (see \(programName) --help)\n".utf8))
        Foundation.exit(code.rawValue)
    }
}
