// SPDX-License-Identifier: MIT
package main

import (
	"bufio"
	"os"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// The steps of a Dockerfile: line, name, options, the words of what follows, how many here-documents, whether it is JSON.
func readDockerfile(path string) result {
	file, err := os.Open(path)
	if err != nil {
		return result{"error": err.Error()}
	}
	defer file.Close()
	tree, err := parser.Parse(file)
	if err != nil {
		return result{"error": err.Error()}
	}
	if _, _, err = instructions.Parse(tree.AST, nil); err != nil {
		return result{"error": err.Error()}
	}
	steps := []any{}
	for _, step := range tree.AST.Children {
		words := []string{}
		for word := step.Next; word != nil; word = word.Next {
			words = append(words, word.Value)
		}
		steps = append(steps, []any{step.StartLine, strings.ToUpper(step.Value), step.Flags, words, len(step.Heredocs), step.Attributes["json"]})
	}
	return result{"steps": steps}
}

func lines(path string, each func(line string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text := bufio.NewScanner(file)
	for text.Scan() {
		each(text.Text())
	}
	return text.Err()
}

// What each line stands for, with some variables set; null: it is refused.
func readWords(path string) result {
	values := shell.EnvsFromSlice([]string{"A=a b", "EMPTY=", "PWD=/home", "SHELL=bash", "KOREAN=한국어", "P=/x/y.tar.gz"})
	texts := []any{}
	err := lines(path, func(line string) {
		if text, _, err := shell.NewLex('\\').ProcessWord(line, values); err == nil {
			texts = append(texts, text)
		} else {
			texts = append(texts, nil)
		}
	})
	if err != nil {
		return result{"error": err.Error()}
	}
	return result{"texts": texts}
}

// An ignore file, and beside it as PATH.names a list of names: which of them are ignored.
func readIgnore(path string) result {
	file, err := os.Open(path)
	if err != nil {
		return result{"error": err.Error()}
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		return result{"error": err.Error()}
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		return result{"error": err.Error()}
	}
	ignored := []bool{}
	err = lines(path+".names", func(name string) {
		matches, wrong := matcher.MatchesOrParentMatches(name)
		if wrong != nil {
			err = wrong
		}
		ignored = append(ignored, matches)
	})
	if err != nil {
		return result{"error": err.Error()}
	}
	return result{"ignored": ignored}
}
