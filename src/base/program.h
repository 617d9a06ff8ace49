/*
 * program: where a program's name leads on a fixed path.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * A bare name is looked for in the folders of `folders` ("/a:/b"), in their order; an absolute path
 * is what it is; another is none. True if there is a regular file that can be executed, links
 * followed: *ret_path is where it was found and *ret_st what it is.
 */
bool program_find(const char *program, const char *folders, char ret_path[PATH_MAX],
                  struct stat *ret_st);
