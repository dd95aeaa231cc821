//! Splits Rust text into code and comments, character for character.
//!
//! Invariant: both halves have the length in characters and the line breaks of the input; what
//! belongs to the other half, and the inside of string and character literals, is spaces.

/// Returns the code (comments and the inside of literals blanked) and the comments (rest blanked).
pub(crate) fn split(text: &str) -> (String, String) {
    let mut lexer = Lexer {
        chars: text.chars().collect(),
        at: 0,
        code: String::with_capacity(text.len()),
        comments: String::with_capacity(text.len()),
    };
    while lexer.at < lexer.chars.len() {
        lexer.step();
    }
    (lexer.code, lexer.comments)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    code: String,
    comments: String,
}

#[derive(Clone, Copy)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Lexer {
    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.line_comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('r', '"' | '#') if self.starts_word() && self.raw_hashes(1).is_some() => self.raw(1),
            ('b' | 'c', 'r') if self.starts_word() && self.raw_hashes(2).is_some() => self.raw(2),
            ('\'', _) if self.is_char_literal() => self.char_literal(),
            _ => self.take(Kind::Code),
        }
    }

    fn line_comment(&mut self) {
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            self.take(Kind::Comment);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.take(Kind::Comment);
                    continue;
                }
            }
            self.take(Kind::Comment);
            self.take(Kind::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.take(Kind::Code);
        while self.at < self.chars.len() {
            match self.peek(0) {
                '"' => return self.take(Kind::Code),
                '\\' => {
                    self.take(Kind::Literal);
                    self.take(Kind::Literal);
                }
                _ => self.take(Kind::Literal),
            }
        }
    }

    /// Consumes `r#"…"#` whose `r` stands just before `prefix`.
    fn raw(&mut self, prefix: usize) {
        let hashes = self.raw_hashes(prefix).unwrap_or(0);
        for _ in 0..prefix + hashes + 1 {
            self.take(Kind::Code);
        }
        while self.at < self.chars.len() {
            let closes = self.peek(0) == '"' && (1..=hashes).all(|n| self.peek(n) == '#');
            if closes {
                for _ in 0..hashes + 1 {
                    self.take(Kind::Code);
                }
                return;
            }
            self.take(Kind::Literal);
        }
    }

    fn char_literal(&mut self) {
        self.take(Kind::Code);
        while self.at < self.chars.len() && self.peek(0) != '\'' {
            if self.peek(0) == '\\' {
                self.take(Kind::Literal);
            }
            self.take(Kind::Literal);
        }
        self.take(Kind::Code);
    }

    /// A lifetime has no closing quote after one character.
    fn is_char_literal(&self) -> bool {
        self.peek(1) == '\\' || self.peek(2) == '\''
    }

    /// Returns the number of hashes of a raw string opening at `prefix`, if one opens there.
    fn raw_hashes(&self, prefix: usize) -> Option<usize> {
        let hashes = (prefix..).take_while(|n| self.peek(*n) == '#').count();
        (self.peek(prefix + hashes) == '"').then_some(hashes)
    }

    fn starts_word(&self) -> bool {
        self.at == 0 || !is_word(self.chars[self.at - 1])
    }

    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn take(&mut self, kind: Kind) {
        let Some(c) = self.chars.get(self.at).copied() else { return };
        self.at += 1;
        let (code, comment) = match kind {
            _ if c == '\n' => (c, c),
            Kind::Code => (c, ' '),
            Kind::Comment => (' ', c),
            Kind::Literal => (' ', ' '),
        };
        self.code.push(code);
        self.comments.push(comment);
    }
}

/// Returns whether names are made of such characters.
pub(crate) fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests;
